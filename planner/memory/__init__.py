"""Does it fit: weights, overheads and the KV pool of each GPU, by each engine's own rule."""

from planner.memory.fit import fit_memory, pool_from_available
from planner.memory.records import Assumption, MemoryFit, Pool, StageMemory
from planner.memory.smallest import smallest_deployment

__all__ = [
    "Assumption",
    "MemoryFit",
    "Pool",
    "StageMemory",
    "fit_memory",
    "pool_from_available",
    "smallest_deployment",
]
