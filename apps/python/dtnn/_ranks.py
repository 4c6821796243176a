"""Processes that train one model together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._arguments import option_texts


def run_as_rank(work: Callable[[int, int], Any], **options: Any) -> None:
    """Joins the processes that mpirun, srun or launch started, and calls work(rank, ranks), in
    which runs with parallel="data" train one model on all of them. They end with it.

    All ranks create such a run, and call fit(), evaluate(), predict() and save(), together; rank 0
    writes files. Samples are divided among them. An exception in one of them ends all. options: how
    ranks meet, wait and add: transport, rendezvous, comm_timeout, use_mpi_buffers, as of the program
    benchmark; all others are those of the runs.
    """
    if not callable(work):
        raise TypeError(f"work: expected a function of a rank and of their number, not {work!r}")
    _core.run_as_rank(work, option_texts(options))
