"""How many tokens a step of speculative decoding yields, from measured tables or a curve pooled from them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from planner.catalogue import Catalogue
from planner.catalogue.effects import AcceptanceTable, Speedup
from planner.errors import InvalidInput, unknown_name

ALIASES = {
    "nextn": "mtp",
    "eagle": "eagle3",
    "eagle-3": "eagle3",
    "eagle3.1": "eagle3",
    "eagle-3.1": "eagle3",
}
"""Names of drafts that share a curve."""

QUANTISED = ("bf16", "fp8", "int4", "mxfp4", "nvfp4")
"""Ends of model ids: the same model in another format accepts like it."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Tokens of one target step, the target's own included.

    Parameters
    ----------
    tokens : float
        Mean.
    low, high : float
        Range over what the text is about and, where pooled, over the models.
    pooled : bool
        Whether it is of other models.
    tables : tuple of str
        Ids of the tables it is from.
    source : str
        Confidence, source and date.
    """

    tokens: float
    low: float
    high: float
    pooled: bool
    tables: tuple[str, ...]
    source: str


def tokens_per_step(
    *,
    catalogue: Catalogue,
    draft: str,
    drafted: int,
    model: str | None = None,
    thinking: bool | None = None,
    task: str | None = None,
) -> Acceptance:
    """Return how many tokens a target step yields with so many drafted.

    Parameters
    ----------
    catalogue : Catalogue
        With the tables (`acceptance:` in `data/stacks.yaml`).
    draft : str
        ``mtp``, ``eagle3``, ``dspark``, ``p-eagle``; any other name takes the curve of all drafts.
    drafted : int
        Tokens drafted for each step.
    model : str, optional
        Id or alias; without one, or where it has no table, the curve is pooled over models.
    thinking : bool, optional
        Whether the model thinks aloud; None is the mean of both.
    task : str, optional
        What the text is about (``coding``), for a model with a table by task, or else another's ratio.

    Returns
    -------
    Acceptance
        Between the drafted counts of a table tokens are interpolated; beyond them they stay.

    Raises
    ------
    InvalidInput
        For a negative number of drafted tokens.
    UnknownName
        For a task that no table has.
    """
    if drafted < 0:
        raise InvalidInput(f"drafted: {drafted} is not possible; 0 or more")
    if drafted == 0:
        return Acceptance(1.0, 1.0, 1.0, pooled=False, tables=(), source="exact: nothing is drafted")
    tables = [table for table in catalogue.acceptance_tables() if table.variant is None]
    own, pooled = _tables_for(tables, _base_id(catalogue, model), ALIASES.get(draft.lower(), draft.lower()))
    exact = _measured_task(own, task, drafted) if task is not None and not pooled else None
    if exact is not None:
        return exact
    chosen = _by_thinking(own, thinking)
    means = [_interpolate(curve, drafted) for curve in _curves(chosen)]
    tokens, least, most = fmean(means), min(means), max(means)
    if task is not None:
        ratio = _task_ratio(tables, chosen, task)
        low = mid = high = ratio
    else:
        low, high = _task_spread(tables)
        mid = 1.0
    return Acceptance(
        _scale(tokens, mid, drafted),
        _scale(least, low, drafted),
        _scale(most, high, drafted),
        pooled,
        tuple(table.id for table in chosen),
        f"pooled from {len(chosen)} tables: {chosen[0].source.title}" if pooled else chosen[0].provenance(),
    )


def measured_speedups(
    *, catalogue: Catalogue, model: str | None = None, gpu: str | None = None, draft: str | None = None
) -> list[Speedup]:
    """Return the measured gains of speculation for a model, a GPU and a draft, each where asked.

    Parameters
    ----------
    catalogue : Catalogue
        With the figures (`speedups:` in `data/stacks.yaml`).
    model, gpu : str, optional
        Ids or aliases.
    draft : str, optional
        Kind of draft.

    Returns
    -------
    list of Speedup
        In the order of the files.
    """
    wanted_model = None if model is None else _base_id(catalogue, model)
    wanted_gpu = None if gpu is None else catalogue.resolve("gpus", gpu)
    return [
        row
        for row in catalogue.speedups()
        if (wanted_model is None or row.model == wanted_model)
        and (wanted_gpu is None or row.gpu == wanted_gpu)
        and (draft is None or row.draft == draft.lower())
    ]


def _base_id(catalogue: Catalogue, model: str | None) -> str | None:
    """Return the id of a model without the end that names a quantised checkpoint."""
    if model is None:
        return None
    key = catalogue.resolve("models", model)
    base, _, end = key.rpartition("-")
    return base if end in QUANTISED and base in catalogue.model_ids() else key


def _tables_for(
    tables: Sequence[AcceptanceTable], model: str | None, draft: str
) -> tuple[list[AcceptanceTable], bool]:
    """Return the tables of a model and draft, else of the draft, else all; and whether they are pooled."""
    of_draft = [table for table in tables if table.draft == draft]
    own = [table for table in of_draft if model in table.models]
    return (own, False) if own else (of_draft or list(tables), True)


def _by_thinking(tables: list[AcceptanceTable], thinking: bool | None) -> list[AcceptanceTable]:
    """Return whole curves before tables by task, and of them those that agree on thinking, if any do."""
    curves = [table for table in tables if table.tokens] or tables
    agreeing = [table for table in curves if thinking is not None and table.thinking is thinking]
    return agreeing or curves


def _curves(tables: Sequence[AcceptanceTable]) -> list[Mapping[int, float]]:
    """Return one curve for each model, draft and way of thinking; tables by task are points of it."""
    curves: defaultdict[tuple[object, ...], dict[int, float]] = defaultdict(dict)
    for table in tables:
        points = table.tokens or {table.drafted or 0: fmean(table.tasks.values())}
        curves[table.models, table.draft, table.thinking].update(points)
    return list(curves.values())


def _interpolate(curve: Mapping[int, float], drafted: int) -> float:
    points = sorted({0: 1.0, **curve}.items())
    at = bisect_left(points, (drafted, 0.0))
    if at == len(points):
        return points[-1][1]
    (left, below), (right, above) = points[at - 1], points[at]
    return below + (above - below) * (drafted - left) / (right - left)


def _ratios(table: AcceptanceTable) -> dict[str, float]:
    """Return the accepted drafts of each task against the mean of its table."""
    mean = fmean(table.tasks.values()) - 1
    return {task.lower(): (tokens - 1) / mean for task, tokens in table.tasks.items()}


def _measured_task(tables: Sequence[AcceptanceTable], task: str, drafted: int) -> Acceptance | None:
    """Return what was measured for exactly this task and number of drafts, or None."""
    for table in tables:
        for name, tokens in table.tasks.items():
            if name.lower() == task.lower() and table.drafted == drafted:
                return Acceptance(tokens, tokens, tokens, False, (table.id,), table.provenance())
    return None


def _task_spread(tables: Sequence[AcceptanceTable]) -> tuple[float, float]:
    """Return the lowest and highest ratio of a task over all tables."""
    ratios = [ratio for table in tables if table.tasks for ratio in _ratios(table).values()]
    return min(ratios, default=1.0), max(ratios, default=1.0)


def _task_ratio(tables: Sequence[AcceptanceTable], chosen: Sequence[AcceptanceTable], task: str) -> float:
    """Return the ratio of a task, of the chosen tables' models before others."""
    models = {model for table in chosen for model in table.models}
    rows = [table for table in tables if task.lower() in _ratios_or_none(table)]
    if not rows:
        known = dict.fromkeys(name for table in tables for name in table.tasks)
        raise unknown_name("task", task, known)
    own = [table for table in rows if models & set(table.models)]
    return fmean(_ratios(table)[task.lower()] for table in own or rows)


def _ratios_or_none(table: AcceptanceTable) -> dict[str, float]:
    return _ratios(table) if table.tasks else {}


def _scale(tokens: float, ratio: float, drafted: int) -> float:
    return min(drafted + 1.0, 1 + (tokens - 1) * ratio)
