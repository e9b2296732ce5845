"""What keeps an engine from starting although its KV pool would hold what was asked."""

from __future__ import annotations

from collections.abc import Sequence

from planner.memory.records import Pool, StageMemory
from planner.memory.setup import Setup
from planner.units import format_bytes

SLACK_BYTES = 2.0**20
"""Rounding of budgets and pages; less than this is no excess."""


def obstacle(setup: Setup, stages: Sequence[StageMemory], pool: Pool) -> str | None:
    """Return why the engine does not start as set up, or None.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stages : sequence of StageMemory
        Memory of each stage.
    pool : Pool
        The KV pool.

    Returns
    -------
    str or None
        The reason with the option to turn.
    """
    if min(stage.available_bytes for stage in stages) <= 0:
        return None  # the pool itself is what is lacking
    for stage in stages:
        over = stage.taken_bytes - stage.usable_bytes
        if over > SLACK_BYTES:
            return _excess(setup, stage, over)
    if pool.slots and unheld_sequences(setup, pool) and setup.setting("graphs_need_states").value:
        return (
            f"max_num_seqs: {unheld_sequences(setup, pool):,} requests, a recurrent state for each, exceed "
            f"the {pool.slots:,} blocks of the pool; {setup.stack.name} does not start as set up, "
            f"set max_num_seqs to {pool.slots:,}"
        )
    return None


def _excess(setup: Setup, stage: StageMemory, over: float) -> str:
    """Return by how much a GPU is overdrawn, and by which option."""
    if setup.deployment.kv_cache_memory_bytes is not None:
        most = format_bytes(max(stage.kv_pool_bytes - over, 0.0))
        asked = format_bytes(stage.kv_pool_bytes)
        return f"kv_cache_memory_bytes: {asked} are asked, and beside the rest {most} can be had"
    left = format_bytes(max(stage.usable_bytes - stage.budget_bytes, 0.0))
    return (
        f"graphs: {format_bytes(stage.graph_bytes)} are captured after the KV pool is cut, and the memory "
        f"fraction leaves {left}; lower it to {lower_fraction(stage):g}"
    )


def lower_fraction(stage: StageMemory) -> float:
    """Return the largest memory fraction, in hundredths, that leaves room for graphs."""
    return int(100 * (1 - stage.graph_bytes / stage.usable_bytes)) / 100


def unheld_sequences(setup: Setup, pool: Pool) -> int | None:
    """Return vLLM's `max_num_seqs` where it exceeds the blocks that hold recurrent states, or None.

    With full graphs each request that may run needs a block for its state (vLLM #38270).
    """
    if not pool.slots or setup.stack.id != "vllm" or setup.deployment.enforce_eager:
        return None
    asked = int(setup.assume("max_num_seqs", setup.deployment.max_num_seqs))
    return asked if asked > pool.slots else None


def sequence_warnings(setup: Setup, pool: Pool) -> list[str]:
    """Return what to know about `max_num_seqs`: blocks that it exceeds, and requests that it makes wait.

    Parameters
    ----------
    setup : Setup
        The deployment.
    pool : Pool
        The KV pool.

    Returns
    -------
    list of str
    """
    found = []
    asked = unheld_sequences(setup, pool)
    if asked:
        found.append(
            f"max_num_seqs {asked:,} exceeds the {pool.slots:,} blocks of the pool: with full graphs a model "
            f"with recurrent states does not start; set max_num_seqs to {pool.slots:,} or less"
        )
    copies = setup.deployment.dp
    each = -(-setup.concurrency // copies)
    if setup.deployment.max_num_seqs is None and "max_num_seqs" in setup.stack.settings:
        most = int(setup.assume("max_num_seqs", None))
        if each > most:
            of = " on each copy" if copies > 1 else ""
            found.append(
                f"{each:,} requests at once{of} are over {setup.stack.name}'s default max_num_seqs of "
                f"{most:,}: the others wait; set max_num_seqs to {each:,}"
            )
    return found
