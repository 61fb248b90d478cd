"""Collection options as one types them."""

from __future__ import annotations

import pytest

from profrx.report.model import Collect
from profrx.report.views import option, together


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (["ncu --section A", "ncu --section B"], "ncu --section A --section B"),
        (["ncu --metrics a,b --section S", "ncu --metrics b,c"], "ncu --metrics a,b,c --section S"),
        (
            ["rocprofv3 --hip-trace --kernel-trace", "rocprofv3 --kernel-trace --pmc A B"],
            "rocprofv3 --hip-trace --kernel-trace --pmc A B",
        ),
        (
            ["rocprofv3 --pmc A B", "rocprofv3 --kernel-trace --pmc C", "rocprofv3 --pmc B"],
            "printf 'pmc: A B\\npmc: C\\n' > counters.txt && rocprofv3 --kernel-trace -i counters.txt",
        ),
        (["ncu --set full", "nsys profile --trace cuda"], "ncu --set full and nsys profile --trace cuda"),
        (["nsys profile --trace cuda,nvtx", "nsys profile --trace cuda"], "nsys profile --trace cuda,nvtx"),
    ],
)
def test_together(options: list[str], command: str) -> None:
    assert together(options) == command


@pytest.mark.parametrize(
    ("tool", "typed"),
    [("ncu", "ncu --x y"), ("nsys", "nsys profile --x y"), ("rocprofv3", "rocprofv3 --x y")],
)
def test_option(tool: str, typed: str) -> None:
    assert option(Collect(tool=tool, option="--x y")) == typed
