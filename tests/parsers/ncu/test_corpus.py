"""Public reports: all open, and hold as many results and metrics as the list beside them says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from profrx_parsers.columns import EXTRA
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted

pytestmark = pytest.mark.corpus
KERNELS = re.compile(r"kernels=(\d+)")
METRICS = re.compile(r"metric_count=(\d+)(?:-(\d+))?")
DRIVER = re.compile(r"driver ([\d.]+)")


def listed(corpus: Path) -> list[dict[str, str]]:
    with (corpus / "manifest.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["topic"] == "ncu"]
    return [row for row in rows if row["local_name"].endswith(".ncu-rep")]


def test_counts_of_every_public_report(corpus: Path) -> None:
    rows = listed(corpus)
    assert len(rows) >= 37
    for row in rows:
        report = open_report(corpus / "ncu" / row["local_name"])
        launches, metrics = report.table("launches"), report.table("metrics")
        kernels = KERNELS.search(row["counts"])
        least_most = METRICS.search(row["counts"])
        assert kernels
        assert least_most
        assert launches.num_rows == int(kernels[1]), row["local_name"]
        counts = np.bincount(metrics.column("launch_id").to_numpy(), minlength=launches.num_rows)
        low, high = int(least_most[1]), int(least_most[2] or least_most[1])
        assert (counts.min(), counts.max()) == (low, high), row["local_name"]
        problems = report.table("problems").to_pylist()
        assert {p["severity"] for p in problems} <= {"info", "warning"}, row["local_name"]
        assert not {"ncu-damaged-length", "ncu-damaged-names", "ncu-damaged-result"} & {
            p["code"] for p in problems
        }


def test_versions_devices_and_drivers(corpus: Path) -> None:
    for row in listed(corpus):
        report = open_report(corpus / "ncu" / row["local_name"], Wanted(metrics=frozenset()))
        if re.match(r"\d{4}\.", row["tool_version"]):
            assert report.info.tool_version == row["tool_version"]
        (device,) = report.table("devices").to_pylist()
        name, _, capability = row["device"].rpartition(" cc")
        assert (device["name"], device["arch"]) == (name, "sm_" + capability.replace(".", ""))
        driver = DRIVER.search(row["notes"])
        if driver:
            assert report.info.driver == driver[1].rstrip(".")


def test_published_peaks(corpus: Path) -> None:
    """Vendor data sheets: A100 40 GB 1,555 GB/s, 19.5 and 9.7 TFLOP/s; RTX 3090 936 GB/s; RTX 4090 1,008 GB/s."""
    known = {
        "NVIDIA A100-PCIE-40GB": (1.555e12, 19.5e12, 9.7e12),
        "NVIDIA GeForce RTX 3090": (0.936e12, None, None),
        "NVIDIA GeForce RTX 4090": (1.008e12, None, None),
    }
    seen = set()
    for row in listed(corpus):
        report = open_report(corpus / "ncu" / row["local_name"], Wanted(metrics=frozenset()))
        (device,) = report.table("devices").to_pylist()
        if device["name"] not in known:
            continue
        bandwidth, single, double = known[device["name"]]
        seen.add(device["name"])
        assert device["peak_bandwidth_bytes_per_s"] == pytest.approx(bandwidth, rel=0.005)
        if single:
            assert device["peak_fp32_flop_per_s"] == pytest.approx(single, rel=0.005)
            assert device["peak_fp64_flop_per_s"] == pytest.approx(double, rel=0.005)
    assert seen == set(known)


def test_published_tensor_peaks(corpus: Path) -> None:
    """Dense FP16 with FP32 sums by the vendor's data sheets: A100 312 TFLOP/s, RTX 5090 209.5."""
    known = {"NVIDIA A100-SXM4-40GB": 312e12, "NVIDIA GeForce RTX 5090": 209.5e12}
    seen = set()
    for row in listed(corpus):
        name = row["device"].rpartition(" cc")[0]
        if name in known:
            report = open_report(corpus / "ncu" / row["local_name"], Wanted(metrics=frozenset()))
            (device,) = report.table("devices").to_pylist()
            assert device["peak_tensor_flop_per_s"] == pytest.approx(known[name], rel=0.005)
            seen.add(name)
    assert seen == set(known)


def test_projection_gives_the_same_values(corpus: Path) -> None:
    wanted = frozenset({
        "gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "launch__waves_per_multiprocessor",
        "smsp__pcsamp_warps_issue_stalled_barrier", "launch__kernel_name",
    })  # fmt: skip
    for row in listed(corpus)[::4]:
        path = corpus / "ncu" / row["local_name"]
        few, full = open_report(path, Wanted(metrics=wanted)), open_report(path)
        names = few.table("metrics").column("metric").to_pylist()
        assert {
            name.rpartition("Triage")[2].partition(".")[2] if "Triage" in name else name for name in names
        } <= wanted
        for name in wanted:
            one, two = few.extras[EXTRA].column(name), full.extras[EXTRA].column(name)
            assert (one is None and two is None) or one.equals(two)
        assert few.table("launches").equals(full.table("launches"))
        assert few.table("devices").equals(full.table("devices"))


def test_command_lines_stay_private(corpus: Path) -> None:
    for row in listed(corpus):
        info = open_report(corpus / "ncu" / row["local_name"], Wanted(metrics=frozenset())).info
        told = info.model_dump_json(exclude={"source"})
        assert "/home/" not in told
        assert "127.0.0.1" not in told
        for value in info.options.values():
            assert "/" not in str(value).replace("regex:", "")
