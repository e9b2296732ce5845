"""How sure a memory answer is: the spread that the fit states, and how wrong it was on start-up logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.memory.records import MemoryFit
from planner.report.table import GIB

if TYPE_CHECKING:
    from planner.measurement.accuracy import Accuracy, MemoryAccuracy
    from planner.report.fit import FitAnswer

BAD_MEDIAN = 0.10
"""Median error of the KV pool above which an answer warns of itself."""

FEW_LOGS = 3

HOW_KNOWN = {
    "weights": "computed",
    "KV cache": "what is left",
    "state": "computed",
    "activation": "calibrated",
    "graphs": "calibrated",
    "buffers": "calibrated",
    "reserve": "published",
}
"""Provenance of each part of the memory table."""


def how_known(part: str, memory: MemoryFit) -> str:
    """Return where the size of a part comes from.

    Parameters
    ----------
    part : str
        As `planner.report.tables.memory_parts` names it.
    memory : MemoryFit
        The deployment: a memory fraction that was not assumed was given.

    Returns
    -------
    str
    """
    assumed = {item.name for item in memory.assumptions}
    if part == "reserve" and "memory_fraction" not in assumed:
        return "given"
    return HOW_KNOWN[part]


def provenance_line(answer: FitAnswer) -> str:
    """Return what the words of the provenance column mean."""
    status = answer.config_status
    return (
        f"computed: from the model's configuration ({status}); calibrated: on start-up logs of the engine; "
        "published: the engine's default"
    )


def tokens_spread(memory: MemoryFit) -> float:
    """Return by how many tokens the KV pool may be off, as its bytes may be."""
    if memory.pool.bytes <= 0:
        return 0.0
    return memory.kv_tokens * min(1.0, memory.uncertainty_bytes / memory.pool.bytes)


def how_sure(answer: FitAnswer) -> str:
    """Return how sure the answer is, in one line.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    str
    """
    memory = answer.memory
    said = []
    if memory.per_rank.available_bytes > 0:
        pool, spread = memory.per_rank.kv_pool_bytes / GIB, memory.uncertainty_bytes / GIB
        tokens = _rounded(tokens_spread(memory))
        said.append(f"KV pool {pool:,.1f} ± {spread:,.1f} GiB, {memory.kv_tokens:,} ± {tokens:,} tokens")
    if answer.accuracy is not None:
        said.append(_checked(answer.accuracy))
    return "; ".join(said)


def _rounded(tokens: float) -> int:
    """Return a spread with two digits: more would claim to know it better."""
    digits = max(0, len(str(int(tokens))) - 2)
    return int(round(tokens, -digits))


def _checked(found: MemoryAccuracy) -> str:
    from planner.measurement.attention import WORDS

    kind = f"{WORDS.get(found.attention, found.attention)} under {found.engine}"
    pool, weights = found.kv_pool, found.weights
    if pool is None and weights is None:
        return f"no start-up log of {kind} has been compared, so this is unchecked"
    on_weights = f"weights within {_percent(weights.median)} median ({_logs(weights)})" if weights else ""
    if pool is None:
        return f"no start-up log of {kind} states its KV pool, which is unchecked; {on_weights}"
    logs = f"{_logs(pool)} of {kind}"
    if pool.median > BAD_MEDIAN:
        text = f"on {logs} the KV pool was off by {_percent(pool.median)} median: do not rely on it"
    else:
        only = "only " if pool.logs < FEW_LOGS else ""
        text = f"checked on {only}{logs}: KV pool within {_percent(pool.median)} median"
        if pool.logs > 1:
            text += f", {_percent(pool.worst)} at worst"
    return f"{text}; {on_weights}" if on_weights else text


def _logs(found: Accuracy) -> str:
    return "1 log" if found.logs == 1 else f"{found.logs} logs"


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %") if share < 0.0995 else f"{share:.0%}".replace("%", " %")


def certainty_record(answer: FitAnswer) -> dict[str, Any]:
    """Return the same as plain data.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    dict
        Errors are relative and absolute; None where no log was compared.
    """
    memory, found = answer.memory, answer.accuracy
    return {
        "kv_tokens_uncertainty": round(tokens_spread(memory)),
        "uncertainty_gib": memory.uncertainty_bytes / GIB,
        "engine": found.engine if found else None,
        "attention": found.attention if found else None,
        "kv_pool": _figures(found.kv_pool) if found else None,
        "weights": _figures(found.weights) if found else None,
        "text": how_sure(answer),
    }


def _figures(found: Accuracy | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"logs": found.logs, "median_ape": found.median, "worst_ape": found.worst}
