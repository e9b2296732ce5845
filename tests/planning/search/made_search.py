"""Searches that several tests look at, each made once."""

from __future__ import annotations

from functools import cache
from typing import Any

from planner.catalogue import load_catalogue
from planner.planning.question import Question, question
from planner.planning.search import SearchResult, SearchSpace, search

CATALOGUE = load_catalogue()
ISL, OSL = 2048, 512


def asked(model: str, gpu: str, **options: Any) -> Question:
    """Return a question with requests of one length; a load or a price may be among the options."""
    load = {"isl": ISL, "osl": OSL}
    load |= {name: options.pop(name) for name in ("concurrency", "request_rate") if name in options}
    price = options.pop("price", None)
    return question(model=model, gpu=gpu, load=load, options=options, catalogue=CATALOGUE, price=price)


@cache
def searched(model: str, gpu: str, engine: str = "vllm", space: SearchSpace | None = None) -> SearchResult:
    """Return a search."""
    made = asked(model, gpu, engine=engine)
    return search(made, made.gpus[0], space=space)


LLAMA = ("llama-3.1-8b", "b200")
R1 = ("deepseek-r1", "b200")
APART = SearchSpace(gpus=(16,), tp=(4, 8), ep=(1,), dcp=(1,), speculative_tokens=(0, 1), disaggregated=True)
