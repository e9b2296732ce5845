"""Stands in for PyTorch on a GPU: operations take times that are set, and its clock counts them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class FakeTorch:
    """A device whose clock is moved by what it is asked to do."""

    uint8 = "uint8"
    __version__ = "2.11.0"

    def __init__(self, *, captures: bool = True) -> None:
        self.now_s = 0.0
        self.flushes = 0
        self.replays = 0
        self.version = SimpleNamespace(hip=None, cuda="13.0")
        torch = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at_s = torch.now_s

            def synchronize(self) -> None:
                return

            def elapsed_time(self, other: Event) -> float:
                return 1e3 * (other.at_s - self.at_s)

        class Graph:
            def __init__(self) -> None:
                self.took_s = 0.0

            def replay(self) -> None:
                torch.replays += 1
                torch.now_s += self.took_s

        class Capture:
            def __init__(self, graph: Graph) -> None:
                self.graph = graph

            def __enter__(self) -> None:
                self.start_s = torch.now_s

            def __exit__(self, *_: object) -> None:
                if not captures:
                    raise RuntimeError("cannot be captured")
                self.graph.took_s = torch.now_s - self.start_s

        self.cuda = SimpleNamespace(
            Event=Event,
            CUDAGraph=Graph,
            graph=Capture,
            synchronize=lambda: None,
            is_available=lambda: True,
            empty_cache=lambda: None,
            get_device_properties=lambda number: SimpleNamespace(
                name="NVIDIA H200",
                multi_processor_count=132,
                total_memory=150109880320,
                L2_cache_size=62914560,
            ),
        )

    def empty(self, size: int, *, dtype: str, device: str) -> Any:
        assert device == "cuda"
        assert size > 62914560, "the cache must be overwritten whole"
        torch = self

        class Buffer:
            def zero_(self) -> None:
                torch.flushes += 1
                torch.now_s += 60e-6

        return Buffer()


class Values:
    """A tensor of which nothing but its one number counts."""

    def __init__(self, number: float) -> None:
        self.number = number

    def to(self, device: str) -> Values:
        return self

    def item(self) -> float:
        return self.number


class FakeGroupTorch(FakeTorch):
    """One process of a group on a device whose collectives each take a known time.

    Parameters
    ----------
    took_s : float
        Time of each collective that is timed [s].
    """

    bfloat16, float64 = "bfloat16", "float64"

    def __init__(self, took_s: float) -> None:
        super().__init__()
        self.waits = 0

        def timed(*_: object) -> None:
            self.now_s += took_s

        def all_reduce(values: Values, op: str = "sum") -> None:
            if values.number == 1:  # the one before which devices wait for each other
                self.waits += 1
                self.now_s += 1.0
            elif op == "sum":
                timed()

        graph = self.cuda.graph
        self.cuda.graph = lambda made, capture_error_mode: graph(made)
        self.cuda.set_device = lambda device: None
        self.distributed = SimpleNamespace(
            init_process_group=lambda library: None,
            destroy_process_group=lambda: None,
            new_group=lambda backend: backend,
            barrier=lambda: None,
            ReduceOp=SimpleNamespace(MAX="max"),
            all_reduce=all_reduce,
            all_gather_into_tensor=timed,
            reduce_scatter_tensor=timed,
            all_to_all_single=timed,
            send=timed,
            recv=timed,
        )

    def zeros(self, size: int, dtype: str = "", device: str = "") -> Values:
        return Values(size)

    def empty_like(self, other: Values) -> Values:
        return Values(other.number)

    def tensor(self, numbers: list[float], dtype: str) -> Values:
        return Values(numbers[0])

    def device(self, name: str) -> str:
        return name
