"""What keeps an engine from starting although its KV pool would hold what was asked."""

from __future__ import annotations

from collections.abc import Sequence

from planner.memory.overheads import loader_residue_bytes, outside_bytes, warm_up_bytes
from planner.memory.page_rules import latent_workspace_bytes
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
        if profile_excess_bytes(setup, stage) > 0:
            return (
                f"profile step: {format_bytes(latent_workspace_bytes(setup))} of keys and values are set "
                "aside, a block of latents for each of max_num_seqs requests, and the allocator takes them "
                "again; lower max_num_seqs"
            )
        if residue_excess_bytes(setup, stage) > 0:
            return (
                f"warm-up: loading leaves {format_bytes(loader_residue_bytes(setup, stage))} reserved and "
                f"unused, and with sampling that is more than the {format_bytes(outside_bytes(stage))} that "
                f"the memory fraction leaves; lower it to {lower_fraction(setup, stage):g}"
            )
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


def profile_excess_bytes(setup: Setup, stage: StageMemory) -> float:
    """Return by how much the profile step of latent attention overdraws the device, or 0 [bytes].

    Each layer sets keys and values aside anew. Between two layers smaller buffers are cut out of the freed
    ones, so PyTorch's allocator keeps these and asks for others of full size: Kimi-Linear on one H200 had
    29.6 GiB reserved and unused when it failed to get 29.5 GiB.

    Parameters
    ----------
    setup : Setup
        The deployment.
    stage : StageMemory
        Memory of a stage.

    Returns
    -------
    float
    """
    aside = latent_workspace_bytes(setup)
    if not aside:
        return 0.0
    again = (setup.number("latent_workspace_copies") - 1) * aside
    held = stage.weights_bytes + stage.activation_bytes + stage.non_torch_bytes
    return max(held + again - stage.usable_bytes, 0.0)


def is_overdrawn(setup: Setup, stages: Sequence[StageMemory]) -> bool:
    """Return whether a GPU runs out of memory in the profile step, or in warm-up after loading's residue."""
    return any(
        profile_excess_bytes(setup, stage) > 0 or residue_excess_bytes(setup, stage) > 0 for stage in stages
    )


def residue_excess_bytes(setup: Setup, stage: StageMemory) -> float:
    """Return by how much loading's residue makes the warm-up overdraw the device, or 0 [bytes].

    Parameters
    ----------
    setup : Setup
        The deployment.
    stage : StageMemory
        Memory of a stage.

    Returns
    -------
    float
    """
    if not loader_residue_bytes(setup, stage):
        return 0.0
    return max(warm_up_bytes(setup, stage) - outside_bytes(stage), 0.0)


def _excess(setup: Setup, stage: StageMemory, over: float) -> str:
    """Return by how much a GPU is overdrawn, and by which option."""
    if setup.deployment.kv_cache_memory_bytes is not None:
        most = format_bytes(max(stage.kv_pool_bytes - over, 0.0))
        asked = format_bytes(stage.kv_pool_bytes)
        return f"kv_cache_memory_bytes: {asked} are asked, and beside the rest {most} can be had"
    left = format_bytes(outside_bytes(stage))
    return (
        f"graphs: {format_bytes(stage.graph_bytes)} are captured after the KV pool is cut, and the memory "
        f"fraction leaves {left}; lower it to {lower_fraction(setup, stage):g}"
    )


def lower_fraction(setup: Setup, stage: StageMemory) -> float:
    """Return the largest memory fraction, in hundredths, that leaves room for what comes after the pool."""
    residue = loader_residue_bytes(setup, stage)
    needed = warm_up_bytes(setup, stage) if residue else stage.graph_bytes
    return int(100 * (1 - needed / stage.usable_bytes)) / 100


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
