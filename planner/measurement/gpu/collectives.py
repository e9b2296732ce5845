"""Collectives between GPUs, one process each under torchrun: NCCL, RCCL, or gloo where there is no GPU.

An engine's own all-reduce, which a step of tensor parallelism uses, is timed where vLLM is installed.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from planner.errors import Unsupported
from planner.measurement.gpu.shapes import MESSAGE_BYTES, Suite
from planner.measurement.gpu.timing import Timing
from planner.measurement.gpu.work import COLLECTIVE_KINDS, ENGINE_ALL_REDUCE

REPEATS, WARM_UPS = 12, 3
MOST_IN_A_ROW, LEAST_IN_A_ROW, BYTES_IN_A_ROW = 100, 4, 1 << 28
"""So many are started in a row, so that neither the host's part of timing nor a late process counts."""

Call = Callable[[], object]


def in_a_row(size: int) -> int:
    """Return how many collectives of so many bytes are timed together."""
    return min(MOST_IN_A_ROW, max(LEAST_IN_A_ROW, BYTES_IN_A_ROW // size))


@dataclass(frozen=True, slots=True)
class Message:
    """What is timed: a kind of collective, the bytes of the whole buffer, and how it is started.

    Parameters
    ----------
    kind : str
        Of `COLLECTIVE_KINDS`, or `ENGINE_ALL_REDUCE`.
    size : int
        Of the whole buffer [bytes].
    graph : bool
        Whether it is replayed from a graph, as engines do when they decode, or started by the host.
    """

    kind: str
    size: int
    graph: bool


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
        self._ready = torch.zeros(1, device=self._device)
        self._engine: Any = None

    def close(self) -> None:
        """Leave the group."""
        if self._engine is not None:
            self._engine.close()
        self._distributed.destroy_process_group()

    def messages(self, suite: Suite) -> list[Message]:
        """Return what of the library is timed; graphs come last: a failed capture is the end of a group."""
        return [
            Message(kind, size, graph)
            for graph in ((False, True) if self._on_gpu else (False,))
            for kind in COLLECTIVE_KINDS
            for size in MESSAGE_BYTES[suite]
        ]

    def engine_messages(self, suite: Suite) -> list[Message]:
        """Open the engine's own all-reduce and return which sizes of it are timed.

        Raises
        ------
        Unsupported
            Without vLLM, or where it does not use its own all-reduce.
        """
        try:
            module = importlib.import_module("vllm.distributed.device_communicators.custom_all_reduce")
        except ImportError:
            raise Unsupported("engine_collectives times vLLM's own all-reduce; vLLM is not here") from None
        peers = self._distributed.new_group(backend="gloo")
        engine = module.CustomAllreduce(group=peers, device=self._torch.device(self._device))
        if engine.disabled:
            raise Unsupported("vLLM does not use its own all-reduce between these GPUs")
        self._engine = engine
        return [
            Message(ENGINE_ALL_REDUCE, size, True) for size in MESSAGE_BYTES[suite] if size < engine.max_size
        ]

    def time(self, message: Message) -> Timing:
        """Return how long a collective takes: the slowest process of each run counts."""
        row = in_a_row(message.size)
        call = self._call(message)
        for _ in range(WARM_UPS):
            call()
        self._wait()
        run = self._captured(message, call, row) if message.graph else lambda: [call() for _ in range(row)]
        times = [self._once(run) / row for _ in range(REPEATS + 1)][1:]
        return Timing(statistics.median(times), min(times), max(times), len(times), graph=message.graph)

    def _captured(self, message: Message, call: Call, row: int) -> Call:
        graph = self._torch.cuda.CUDAGraph()
        shared = self._engine.capture() if message.kind == ENGINE_ALL_REDUCE else nullcontext()
        with shared, self._torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for _ in range(row):
                call()
        replay: Call = graph.replay
        return replay

    def _call(self, message: Message) -> Call:
        torch, all_of, ranks = self._torch, self._distributed, self.group.ranks
        values = max(message.size // 2 // ranks, 1) * ranks
        whole = torch.zeros(values, dtype=torch.bfloat16, device=self._device)
        part = torch.zeros(values // ranks, dtype=torch.bfloat16, device=self._device)
        other = torch.empty_like(whole)
        half = ranks // 2
        peer = self.group.rank + (half if self.group.rank < half else -half)
        calls: dict[str, Call] = {
            "all_reduce": lambda: all_of.all_reduce(whole),
            "all_gather": lambda: all_of.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: all_of.reduce_scatter_tensor(part, whole),
            "alltoall": lambda: all_of.all_to_all_single(other, whole),
            "p2p": lambda: self._pass_on(whole, peer),
            ENGINE_ALL_REDUCE: lambda: self._engine.custom_all_reduce(whole),
        }
        return calls[message.kind]

    def _pass_on(self, whole: Any, peer: int) -> None:
        """Send a buffer from the first half of the processes to the second."""
        if self.group.rank < self.group.ranks // 2:
            self._distributed.send(whole, peer)
        elif self.group.rank < self.group.ranks // 2 * 2:
            self._distributed.recv(whole, peer)

    def _once(self, run: Call) -> float:
        """Return how long a run takes from when all processes have begun it."""
        self._distributed.barrier()
        self._wait()
        if self._on_gpu:
            start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._distributed.all_reduce(
                self._ready
            )  # devices wait here for each other, not in what is timed
            start.record()
            run()
            end.record()
            self._wait()
            seconds = start.elapsed_time(end) / 1e3
        else:
            before = time.perf_counter()
            run()
            seconds = time.perf_counter() - before
        taken = self._torch.tensor([seconds], dtype=self._torch.float64).to(self._device)
        self._distributed.all_reduce(taken, op=self._distributed.ReduceOp.MAX)
        return float(taken.item())

    def _wait(self) -> None:
        if self._on_gpu:
            self._torch.cuda.synchronize()
