"""The tables of a fit answer: side by side, one GPU's memory, assumptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.memory.records import Assumption, MemoryFit
from planner.report.certainty import how_known
from planner.report.sentences import gpu_label, layout
from planner.report.table import GIB, Column, Table
from planner.units import format_bytes, format_count, format_significant

if TYPE_CHECKING:
    from planner.report.fit import FitAnswer

GROUPS_NAMED = 3
"""Weight groups that the memory table names; the rest is summed up."""

SMALLEST_NAMED_BYTES = 0.05 * GIB
"""Below this a part would print as 0.0 GiB."""


def _one_decimal(value: float) -> str:
    return f"{value:,.1f}"


def _signed(value: float) -> str:
    return f"{value:+,.1f}" if abs(value) >= 0.05 else "0.0"


def _requests(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


SIDE_BY_SIDE_COLUMNS = (
    Column("gpu", "GPU", show=gpu_label),
    Column("verdict", "fits"),
    Column("gpus", "GPUs", right=True),
    Column("nodes", "nodes", right=True),
    Column("layout", "layout", flexible=True),
    Column("weights_gib", "weights\nGiB/GPU", right=True, show=_one_decimal),
    Column("usable_gib", "usable\nGiB/GPU", right=True, show=_one_decimal),
    Column("kv_tokens", "KV cache\ntokens", right=True, show=format_count),
    Column("max_concurrency", "requests\nat once", right=True, show=_requests),
)

MEMORY_COLUMNS = (
    Column("part", "part"),
    Column("gib", "GiB", right=True, show="{:,.2f}".format),
    Column("share", "share", right=True, show="{:.0%}".format),
    Column("known", "how known"),
    Column("what", "what it is", flexible=True),
)

LAYOUT_COLUMNS = (
    Column("layout", "layout"),
    Column("max_concurrency", "requests\nat once", right=True, show=_requests),
    Column("kv_tokens", "KV cache\ntokens", right=True, show=format_count),
    Column("weights_gib", "weights\nGiB/GPU", right=True, show=_one_decimal),
    Column("extra_weights_gib", "more than\nas shown", right=True, show=_signed),
)

ASSUMPTION_COLUMNS = (
    Column("name", "assumption"),
    Column("value", "value", flexible=True),
    Column("provenance", "why", flexible=True),
)


def side_by_side(answers: Sequence[FitAnswer]) -> Table:
    """Return what each accelerator type needs, one row for each.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers, of one model. Where one node was tried and is too small, it has a row of its own.

    Returns
    -------
    Table
    """
    rows = []
    for answer in answers:
        if answer.one_node is not None and not answer.one_node.fits and answer.memory is not answer.one_node:
            rows.append(_side_row(answer, answer.one_node))
        rows.append(_side_row(answer, answer.memory))
    return Table(SIDE_BY_SIDE_COLUMNS, tuple(rows))


def _side_row(answer: FitAnswer, memory: MemoryFit) -> dict[str, Any]:
    held = memory.per_rank.available_bytes > 0
    return {
        "gpu": answer.gpu,
        "gpus": memory.deployment.gpus,
        "nodes": answer.nodes_of(memory),
        "layout": layout(memory.deployment),
        "verdict": "no" if not memory.fits else "yes" if memory.verdict == "fits" else memory.verdict,
        "weights_gib": memory.per_rank.weights_bytes / GIB,
        "usable_gib": memory.per_rank.usable_bytes / GIB,
        "kv_tokens": memory.kv_tokens if held else None,
        "max_concurrency": memory.max_concurrency if held else None,
    }


def layouts_table(answer: FitAnswer) -> Table | None:
    """Return the same GPUs in layouts that hold more requests, below the one the answer is about.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    Table or None
        None where no layout holds clearly more.
    """
    if not answer.others:
        return None
    rows = [layout_row(answer.memory, one) for one in (answer.memory, *answer.others)]
    gpus = f"{answer.gpus} x {gpu_label(answer.gpu)}"
    return Table(LAYOUT_COLUMNS, tuple(rows), f"The same {gpus} in other layouts, with what each GPU pays")


def layout_row(shown: MemoryFit, one: MemoryFit) -> dict[str, Any]:
    """Return what one layout holds and what its weights take beyond those of the layout shown."""
    held = one.per_rank.available_bytes > 0
    weights = one.per_rank.weights_bytes
    return {
        "layout": layout(one.deployment),
        "max_concurrency": one.max_concurrency if held else None,
        "kv_tokens": one.kv_tokens if held else None,
        "weights_gib": weights / GIB,
        "extra_weights_gib": (weights - shown.per_rank.weights_bytes) / GIB,
    }


def beside_tokens_share(memory: MemoryFit) -> float:
    """Return the share of the KV pool that the tokens it holds do not account for.

    Parameters
    ----------
    memory : MemoryFit
        The deployment.

    Returns
    -------
    float
        States, windows and the padding of pages, which the stage with the least room imposes on all; 0 where
        it is less than a hundredth, as where every layer keeps every token.
    """
    per_token, pool = memory.kv_bytes_per_token_per_rank, memory.pool
    if not per_token or pool.bytes <= 0:
        return 0.0
    share = 1 - memory.kv_tokens / pool.copies * per_token / pool.bytes
    return share if share >= 0.01 else 0.0


def memory_parts(memory: MemoryFit) -> list[tuple[str, float, str]]:
    """Return the parts of the fullest GPU's memory: name, bytes and what it is.

    Parameters
    ----------
    memory : MemoryFit
        The deployment.

    Returns
    -------
    list of (str, float, str)
        The parts do not overlap. The state of one request is taken out of the pool that holds it, and the
        reserve is what is left of it.
    """
    rank = memory.per_rank
    state = min(rank.state_bytes, rank.kv_pool_bytes)
    pool = f"{memory.kv_bytes_per_token_per_rank:,.0f} bytes a token, {memory.kv_tokens:,} tokens"
    if beside := beside_tokens_share(memory):
        pool += f"; {beside:.0%} goes to states, windows or page padding"
    parts = [
        ("weights", rank.weights_bytes, _groups(memory)),
        ("KV cache", rank.kv_pool_bytes - state, pool),
        ("state", state, "of one request, whatever its length"),
        ("activation", rank.activation_bytes, "peak of one engine step"),
        ("graphs", rank.graph_bytes, "captured graphs"),
        ("buffers", rank.non_torch_bytes, "communication between GPUs, and the device context"),
    ]
    why = (
        "left unused by the engine's memory fraction"
        if rank.budget_bytes < rank.usable_bytes
        else "left free"
    )
    parts.append(("reserve", rank.reserve_bytes, why))
    return [part for part in parts if part[1] > 0]


def _groups(memory: MemoryFit) -> str:
    groups = memory.per_rank.weights_by_group.most_common()
    named = [
        f"{group.replace('_', ' ')} {size / GIB:,.1f}"
        for group, size in groups[:GROUPS_NAMED]
        if size >= SMALLEST_NAMED_BYTES
    ]
    rest = sum(size for _, size in groups[GROUPS_NAMED:])
    return ", ".join([*named, f"other {rest / GIB:,.1f}"] if rest >= SMALLEST_NAMED_BYTES else named)


def memory_table(answer: FitAnswer) -> Table:
    """Return the memory of the fullest GPU by part.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    Table
    """
    memory = answer.memory
    usable = memory.per_rank.usable_bytes
    rows = [
        {
            "part": name,
            "gib": size / GIB,
            "share": size / usable,
            "known": how_known(name, memory),
            "what": what,
        }
        for name, size, what in memory_parts(memory)
    ]
    rows.append(
        {
            "part": "usable",
            "gib": usable / GIB,
            "share": 1.0,
            "known": answer.usable_known,
            "what": "what a process can get of the device",
        }
    )
    return Table(MEMORY_COLUMNS, tuple(rows), memory_title(answer))


def memory_title(answer: FitAnswer) -> str:
    """Return which GPU the memory table is about."""
    memory = answer.memory
    if len(memory.stages) == 1:
        return f"Memory of each {gpu_label(answer.gpu)}"
    first, last = (layer + 1 for layer in memory.per_rank.layers)
    stage = f"stage {memory.per_rank.stage + 1} of {len(memory.stages)}"
    return f"Memory of the fullest {gpu_label(answer.gpu)} ({stage}, layers {first} to {last})"


def assumptions_table(answers: Sequence[FitAnswer]) -> Table:
    """Return every value that nobody gave, with its unit and why it may be believed.

    Parameters
    ----------
    answers : sequence of FitAnswer
        The answers, of one model; an assumption that all share has one row.

    Returns
    -------
    Table
    """
    gpus_of: dict[tuple[str, str, str], list[str]] = {}
    for answer in answers:
        for item in answer.memory.assumptions:
            gpus_of.setdefault((item.name, assumption_text(item), item.provenance), []).append(answer.gpu)
    rows = tuple(
        {
            "name": name.replace("_", " ") + ("" if len(gpus) == len(answers) else f" ({_labels(gpus)})"),
            "value": value,
            "provenance": why,
        }
        for (name, value, why), gpus in gpus_of.items()
    )
    return Table(ASSUMPTION_COLUMNS, rows, "Assumed, since it was not given")


def _labels(gpus: Sequence[str]) -> str:
    return ", ".join(gpu_label(gpu) for gpu in gpus)


def with_marks(table: Table, key: str) -> tuple[Table, tuple[tuple[str, str], ...]]:
    """Replace texts of a column that stand there more than once by marks such as [1].

    Parameters
    ----------
    table : Table
        The table.
    key : str
        The column; a trailing ", since ..." stays where it is.

    Returns
    -------
    Table, tuple of (mark, text)
        The table with marks, and what they stand for.
    """
    cut = [str(row[key]).partition(", since ") for row in table.rows]
    counts = Counter(text for text, _, _ in cut)
    marks = {text: f"[{number}]" for number, text in enumerate((t for t in counts if counts[t] > 1), start=1)}
    rows = tuple(
        {**row, key: f"{marks.get(text, text)}{comma}{since}"}
        for row, (text, comma, since) in zip(table.rows, cut, strict=True)
    )
    return Table(table.columns, rows, table.title), tuple((mark, text) for text, mark in marks.items())


def assumption_text(item: Assumption) -> str:
    """Return the value of an assumption with its unit."""
    value, unit = item.value, item.unit
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | float):
        if unit == "bytes":
            return format_bytes(value)
        shown = f"{value:,}" if isinstance(value, int) else format_significant(value, 4)
        return f"{shown} {unit}".strip()
    return f"{value} {unit}".strip()
