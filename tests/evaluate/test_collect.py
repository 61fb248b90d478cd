"""What to collect fits the device and the tool: one spelling of a metric, no section they do not have."""

from __future__ import annotations

import pytest

from profrx.evaluate import collect
from profrx.evaluate.collect import Present
from profrx.language.pack import Pack

from .support import pack_of

PACK = """
metric two.spellings {
  unit sectors
  meaning "a counter that a later architecture renamed"
  valid 0 sectors ..
  source ncu "old__name.sum"
  source ncu arch 10.0 .. 12.9 "new__name.sum"
  collect ncu section "Wanted"
}
metric only.new {
  unit sectors
  meaning "a counter of one architecture"
  valid 0 sectors ..
  source ncu arch 9.0 .. 9.0 "hopper__name.sum"
  collect ncu section "Wanted"
}
metric sampler.interval {
  unit ns
  meaning "interval of the sampler"
  valid 0 ns ..
  source ncu "sampler__interval"
  collect ncu section "PmSampling"
}
"""


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of(PACK)


def _asked(pack: Pack, metric: str, present: Present) -> list[str]:
    return [one.option for one in collect.for_metrics(pack, [metric], "ncu", present)]


@pytest.mark.parametrize(
    ("arch", "name"),
    [(6.1, "old__name.sum"), (9.0, "old__name.sum"), (10.0, "new__name.sum"), (None, "old__name.sum")],
)
def test_only_the_spelling_of_the_architecture(pack: Pack, arch: float | None, name: str) -> None:
    held = {"sections": ["Wanted"]}
    assert _asked(pack, "two.spellings", Present(held, arch)) == [f"--metrics {name}"]
    assert _asked(pack, "two.spellings", Present({}, arch)) == ["--section Wanted"]


def test_what_an_architecture_does_not_have_is_not_asked_for(pack: Pack) -> None:
    assert _asked(pack, "only.new", Present({}, 6.1)) == []
    assert _asked(pack, "only.new", Present({}, 9.0)) == ["--section Wanted"]


@pytest.mark.parametrize(
    ("arch", "version", "asked"),
    [
        (6.1, None, []),  # Pascal has no counter sampler
        (7.5, "2022.4.0.0", []),  # the section came with 2023.3
        (7.5, "2023.3.1.0", ["--section PmSampling"]),
        (None, None, ["--section PmSampling"]),
    ],
)
def test_sections_need_a_device_and_a_version(
    pack: Pack, arch: float | None, version: str | None, asked: list[str]
) -> None:
    assert _asked(pack, "sampler.interval", Present({}, arch, version)) == asked
