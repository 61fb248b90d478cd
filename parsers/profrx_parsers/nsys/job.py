"""Which rank of a distributed job a capture saw: the two numbers of its environment that are not private.

A report stores the environment that the profiler was started in. One report per rank (``nsys profile -o
run.%q{RANK}``) therefore has the variables of that rank; one report of all ranks has none.
"""

from __future__ import annotations

import re

_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")
"""Of torchrun, Open MPI, PMIx, MPICH and Intel MPI, MVAPICH, Slurm; first that is set. Source: their manuals."""
_PAIR = re.compile(r'^([A-Z0-9_]+)="?(\d{1,7})"?$')


def rank_options(lines: list[str]) -> dict[str, int]:
    """Return ``rank`` and ``world_size`` as far as ``NAME=VALUE`` lines tell them; a rank beyond its job is none."""
    found = {match[1]: int(match[2]) for match in map(_PAIR.match, lines) if match}
    rank = next((found[name] for name in _RANK if name in found), None)
    size = next((found[name] for name in _SIZE if name in found), None)
    if rank is None or (size is not None and rank >= size):
        return {}
    return {"rank": rank} if size is None else {"rank": rank, "world_size": size}
