"""A model as a stack of blocks that own their weights, caches and legal divisions."""

from planner.architecture.families import build_architecture
from planner.architecture.model import Architecture
from planner.architecture.tensors import Sharding

__all__ = ["Architecture", "Sharding", "build_architecture"]
