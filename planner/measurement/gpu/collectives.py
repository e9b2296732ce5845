"""Collectives between GPUs, one process each under torchrun: NCCL, RCCL, or gloo where there is no GPU."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner.measurement.gpu.shapes import MESSAGE_BYTES, Suite
from planner.measurement.gpu.timing import Timing
from planner.measurement.gpu.work import COLLECTIVE_KINDS

REPEATS, WARM_UPS = 12, 5
SMALL_BYTES, IN_A_ROW = 1 << 22, 20
"""Small ones are started so often in a row, so that the host's part of timing them does not count."""


@dataclass(frozen=True, slots=True)
class Group:
    """This process among those that torchrun started.

    Parameters
    ----------
    rank, ranks, local_rank, nodes : int
        Its number, how many there are, its number on its node, and how many nodes.
    """

    rank: int
    ranks: int
    local_rank: int
    nodes: int


def group_of(environment: dict[str, str] | None = None) -> Group | None:
    """Return this process's place, None where torchrun did not start it."""
    told = os.environ if environment is None else environment
    if "RANK" not in told or "WORLD_SIZE" not in told:
        return None
    ranks, local = int(told["WORLD_SIZE"]), int(told.get("LOCAL_WORLD_SIZE", told["WORLD_SIZE"]))
    return Group(int(told["RANK"]), ranks, int(told.get("LOCAL_RANK", told["RANK"])), -(-ranks // local))


class Collectives:
    """Times collectives of one group; every process of it must make the same calls.

    Parameters
    ----------
    torch : module
        PyTorch.
    group : Group
        This process.
    device : str
        ``cuda`` or ``cpu``.
    """

    def __init__(self, torch: Any, group: Group, device: str) -> None:
        self._torch, self.group, self._on_gpu = torch, group, device.startswith("cuda")
        self._distributed = torch.distributed
        self.library = ("rccl" if torch.version.hip else "nccl") if self._on_gpu else "gloo"
        self._device = f"cuda:{group.local_rank}" if self._on_gpu else "cpu"
        if self._on_gpu:
            torch.cuda.set_device(self._device)
        self._distributed.init_process_group("nccl" if self._on_gpu else "gloo")

    def close(self) -> None:
        """Leave the group."""
        self._distributed.destroy_process_group()

    def sizes(self, suite: Suite) -> list[tuple[str, int]]:
        """Return what is timed: kinds of collective, and bytes of the whole buffer."""
        return [(kind, size) for kind in COLLECTIVE_KINDS for size in MESSAGE_BYTES[suite] if self._can(kind)]

    def _can(self, kind: str) -> bool:
        return self._on_gpu or kind not in ("reduce_scatter", "alltoall")  # gloo has neither

    def time(self, kind: str, size: int) -> Timing:
        """Return how long a collective of the whole buffer takes: the slowest process of each run counts."""
        call = self._call(kind, size)
        for _ in range(WARM_UPS):
            call()
        self._wait()
        row = IN_A_ROW if size <= SMALL_BYTES else 1
        times = [self._once(call, row) for _ in range(REPEATS)]
        return Timing(statistics.median(times), min(times), max(times), len(times), graph=False)

    def _call(self, kind: str, size: int) -> Callable[[], object]:
        torch, all_of, ranks = self._torch, self._distributed, self.group.ranks
        values = max(size // 2 // ranks, 1) * ranks
        whole = torch.zeros(values, dtype=torch.bfloat16, device=self._device)
        part = torch.zeros(values // ranks, dtype=torch.bfloat16, device=self._device)
        other = torch.empty_like(whole)
        half = ranks // 2
        peer = self.group.rank + (half if self.group.rank < half else -half)
        calls: dict[str, Callable[[], object]] = {
            "all_reduce": lambda: all_of.all_reduce(whole),
            "all_gather": lambda: all_of.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: all_of.reduce_scatter_tensor(part, whole),
            "alltoall": lambda: all_of.all_to_all_single(other, whole),
            "p2p": lambda: self._pass_on(whole, peer),
        }
        return calls[kind]

    def _pass_on(self, whole: Any, peer: int) -> None:
        """Send a buffer from the first half of the processes to the second."""
        if self.group.rank < self.group.ranks // 2:
            self._distributed.send(whole, peer)
        elif self.group.rank < self.group.ranks // 2 * 2:
            self._distributed.recv(whole, peer)

    def _once(self, call: Callable[[], object], row: int) -> float:
        self._distributed.barrier()
        self._wait()
        start = time.perf_counter()
        for _ in range(row):
            call()
        self._wait()
        taken = self._torch.tensor([(time.perf_counter() - start) / row], dtype=self._torch.float64)
        taken = taken.to(self._device)
        self._distributed.all_reduce(taken, op=self._distributed.ReduceOp.MAX)
        return float(taken.item())

    def _wait(self) -> None:
        if self._on_gpu:
            self._torch.cuda.synchronize()
