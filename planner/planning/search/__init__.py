"""Search every legal deployment of a model on one accelerator type, and keep what nothing beats."""

from planner.planning.search.records import Candidate, FailedLimit, LeftOut, Point, Refusal, SearchSpace
from planner.planning.search.result import SearchResult
from planner.planning.search.searching import search, search_again

__all__ = [
    "Candidate",
    "FailedLimit",
    "LeftOut",
    "Point",
    "Refusal",
    "SearchResult",
    "SearchSpace",
    "search",
    "search_again",
]
