"""Packed inputs that are cut: what was unpacked before the cut is read, and the loss is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from profrx_parsers.errors import InputError
from profrx_parsers.registry import open_report


def metrics(path: Path) -> dict[tuple[int, str], float | None]:
    table = open_report(path).table("metrics").select(["launch_id", "metric", "value"]).to_pylist()
    return {(row["launch_id"], row["metric"]): row["value"] for row in table}


def test_a_cut_packed_report_keeps_what_lies_before_the_cut(fixtures: Path, tmp_path: Path) -> None:
    whole = fixtures / "ncu" / "strided-load" / "report.ncu-repz"
    data = whole.read_bytes()
    cut = tmp_path / "cut.ncu-repz"
    cut.write_bytes(data[: len(data) * 3 // 4])
    found, true = metrics(cut), metrics(whole)
    assert len(found) > 100
    assert {key: repr(value) for key, value in found.items()}.items() <= {
        key: repr(value) for key, value in true.items()
    }.items()
    problems = open_report(cut).table("problems").to_pylist()
    assert ("data-loss", "packing-cut") in {(p["severity"], p["code"]) for p in problems}
    assert "packing-cut" not in open_report(whole).table("problems").column("code").to_pylist()


@pytest.mark.parametrize("packing", ["zstd", "gzip"])
def test_a_cut_before_anything_is_unpacked_is_an_error(packing: str, tmp_path: Path) -> None:
    target = tmp_path / "cut.ncu-repz"
    target.write_bytes(pa.compress(bytes(range(256)) * 4096, codec=packing, asbytes=True)[:12])
    with pytest.raises(InputError):
        open_report(target)
