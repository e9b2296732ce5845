"""What an answer agrees with: JSON, intervals, money and memory, and answers to questions beside it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import planner
from planner.catalogue import Catalogue, Gpu
from planner.errors import PlannerError

Asked = dict[str, Any]


def faults(record: Asked) -> Iterator[str]:
    """Yield what is wrong with a record whatever it says: JSON, intervals, money, memory."""
    try:
        text = json.dumps(record, allow_nan=False, ensure_ascii=False)
    except ValueError as error:
        yield f"no JSON: {error}"
        return
    text.encode()
    back = json.loads(text)
    if json.dumps(back, ensure_ascii=False) != text:
        yield "the JSON does not come back the same"
    for place, node in _nodes(back, ""):
        yield from _interval(place, node)
        yield from _memory(place, node)
        for name, value in node.items():
            # A part of a cost may be nothing, and a resale takes away.
            money = name.startswith(("usd_", "tokens_per_dollar")) and "part" not in node
            if money and isinstance(value, float | int) and not value > 0:
                yield f"{place}.{name}: {value} is no cost"


def _nodes(node: Any, place: str) -> Iterator[tuple[str, Asked]]:
    if isinstance(node, dict):
        if place != ".reproduction":
            yield place, node
            for name, value in node.items():
                yield from _nodes(value, f"{place}.{name}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _nodes(value, f"{place}[{number}]")


def _interval(place: str, node: Asked) -> Iterator[str]:
    value, low, high = (node.get(name) for name in ("value", "low", "high"))
    if all(isinstance(one, float | int) for one in (value, low, high)) and not low <= value <= high:
        yield f"{place}: {low} to {high} does not hold {value}"
    for name, middle in node.items():
        ends = node.get(f"{name}_low"), node.get(f"{name}_high")
        if all(isinstance(one, float | int) for one in (middle, *ends)) and not ends[0] <= middle <= ends[1]:
            yield f"{place}.{name}: {ends[0]} to {ends[1]} does not hold {middle}"


PARTS = ("weights_gib", "kv_pool_gib", "activation_gib", "graph_gib", "non_torch_gib", "reserve_gib")
"""What makes up the memory of a rank; the state of a request is a part of the pool."""


def _memory(place: str, node: Asked) -> Iterator[str]:
    """Check that a rank's memory is its parts, and no more than there is."""
    held = node.get("per_rank") if node.get("verdict") == "fits" else None
    if isinstance(held, dict) and {*PARTS, "usable_gib"} <= set(held):
        whole = sum(held[name] or 0.0 for name in PARTS)
        if whole > held["usable_gib"] * (1 + 1e-6):
            yield f"{place}: fits with parts of {whole} of {held['usable_gib']} GiB: {held}"
    if not {*PARTS, "usable_gib"} <= set(node):
        return
    parts = {name: node[name] or 0.0 for name in PARTS}
    low = {name: value for name, value in parts.items() if value < 0 and name != "kv_pool_gib"}
    if low:
        yield f"{place}: negative parts {low}"
    # Without a reserve graphs may reach beyond what there is, which the verdict then says.
    whole, usable = sum(parts.values()), node["usable_gib"]
    over = parts["reserve_gib"] == 0 and whole > usable
    if parts["kv_pool_gib"] > 0 and not over and abs(whole - usable) > 1e-6 * usable:
        yield f"{place}: parts of {whole} of {usable} GiB: {parts}"


def nothing(book: Catalogue, asked: Asked, record: Asked, rng: random.Random) -> Iterator[str]:
    return iter(())


def again(function: str, book: Catalogue, asked: Asked, **changed: Any) -> Asked | None:
    """Ask again with something changed; None where that is refused."""
    try:
        report: Any = getattr(planner, function)(catalogue=book, **(asked | changed))
    except PlannerError:
        return None
    found: Asked = report.to_dict()
    return found


def _alone(asked: Asked, record: Asked) -> bool:
    """Return whether one accelerator answered in a layout that was given, so that it may be asked again."""
    return "gpu" in record and "," not in str(asked["gpu"]) and asked.get("tp") is not None


def _fit_agrees(book: Catalogue, asked: Asked, record: Asked, rng: random.Random) -> Iterator[str]:
    """A longer request leaves room for no more of them, nor a larger pool."""
    if not _alone(asked, record) or rng.random() < 0.5:
        return
    longest = record.get("context_tokens") or 0
    other = again("fit", book, asked, context=max(1, longest // 2))
    most, more = record.get("max_concurrency"), other and other.get("max_concurrency")
    if record["fits"] and most and more is not None and more < most * (1 - 1e-9):
        yield f"{longest} tokens: {most} requests, half as many tokens: {more}"
    if other and record["fits"] and not other["fits"]:
        yield f"{longest} tokens fit, and half as many do not"


def _predict_agrees(book: Catalogue, asked: Asked, record: Asked, rng: random.Random) -> Iterator[str]:
    """More load gives no user more, and a better accelerator is not slower."""
    if not _alone(asked, record) or asked.get("throughput") != "simulated" or "concurrency" not in asked:
        return
    speed, rate = (_value(record, name) for name in ("tps_per_user", "output_tps_total"))
    if speed is None or rate is None:
        return
    # The room is that of the larger load in both, so that nothing but the load differs.
    asked = asked | {"context": record["context_tokens"]}
    if rng.random() < 0.5:
        other = again("predict", book, asked, concurrency=2 * int(record["concurrency"]))
        more = other and _value(other, "tps_per_user")
        if more is not None and more > speed * (1 + 1e-6):
            yield f"twice the load gives a user {more}, instead of {speed} tok/s"
    elif rng.random() < 0.5:
        other = again("predict", book, asked, gpu=better(book.gpu(asked["gpu"])))
        more = other and _value(other, "output_tps_total")
        if more is not None and more < rate * (1 - 1e-6):
            yield f"with twice the bandwidth and the FLOP/s {more}, instead of {rate} tok/s"


def _value(record: Asked, name: str) -> float | None:
    found = record.get(name)
    return found["value"] if isinstance(found, dict) else None


def better(card: Gpu) -> Gpu:
    """Return an accelerator with twice the bandwidth and twice the FLOP/s, and all else alike."""

    def twice(figure: Any) -> Any:
        return figure.model_copy(update={"value": 2 * figure.value})

    memory, band = card.memory, card.memory.bandwidth
    if band is not None:
        memory = memory.model_copy(update={"bandwidth": twice(band)})
    peaks = {dtype: twice(peak) for dtype, peak in card.peaks.items()}
    return card.model_copy(update={"memory": memory, "peaks": peaks})


AGREE: dict[str, Callable[[Catalogue, Asked, Asked, random.Random], Iterator[str]]] = {
    "fit": _fit_agrees,
    "predict": _predict_agrees,
}
