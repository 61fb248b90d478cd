"""The rank of a capture comes from the variables of its launcher, and only that number leaves the environment."""

from __future__ import annotations

import pytest

from profrx_parsers.nsys.job import rank_options


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["RANK=3", "WORLD_SIZE=8", "SECRET=x"], {"rank": 3, "world_size": 8}),
        (['RANK="1"', 'WORLD_SIZE="2"'], {"rank": 1, "world_size": 2}),
        (["OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=4"], {"rank": 0, "world_size": 4}),
        (["SLURM_PROCID=5", "SLURM_NTASKS=16", "RANK=40", "WORLD_SIZE=128"], {"rank": 40, "world_size": 128}),
        (["PMI_RANK=2"], {"rank": 2}),
        (["WORLD_SIZE=8"], {}),
        (["RANK=8", "WORLD_SIZE=8"], {}),
        (["RANK=-1"], {}),
        (["RANK=99999999999"], {}),
        (["RANK=one"], {}),
        (["RANK", "", "=3", "MY_RANK=3"], {}),
        ([], {}),
    ],
)
def test_rank_from_the_environment(lines: list[str], expected: dict[str, int]) -> None:
    assert rank_options(lines) == expected
