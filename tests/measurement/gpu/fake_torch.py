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
