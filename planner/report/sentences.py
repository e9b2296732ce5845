"""The verdict in words: whether it fits, where, and the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.catalogue.labels import gpu_label
from planner.memory.records import MemoryFit
from planner.report.table import GIB
from planner.scenario import Deployment

if TYPE_CHECKING:
    from planner.report.fit import FitAnswer

__all__ = ["gpu_label", "layout", "place", "reason", "requests_held", "verdict_sentence"]


def verdict_sentence(answer: FitAnswer) -> str:
    """Return the verdict with its numbers.

    Parameters
    ----------
    answer : FitAnswer
        The answer.

    Returns
    -------
    str
        One sentence, or two where one node is too small and more nodes are not.
    """
    memory, name = answer.memory, answer.named
    if not memory.fits:
        where = place(answer, memory)
        verdict = f"does not fit on {where}"
        if memory.verdict == "tight":
            verdict = f"is tight on {where} and does not fit as set up"
        return f"{name} {verdict}: {reason(memory)}. {_what_instead(answer)}"
    holding = f"with a KV cache of {memory.kv_tokens:,} tokens, {requests_held(memory)}"
    tightly = " tightly" if memory.verdict == "tight" else ""
    small = answer.one_node
    if small is not None and not small.fits:
        return (
            f"{name} does not fit on {place(answer, small)}: {reason(small)}. "
            f"It fits{tightly} on {place(answer, memory)} {holding}."
        )
    return f"{name} fits{tightly} on {place(answer, memory)} {holding}."


def _what_instead(answer: FitAnswer) -> str:
    if answer.smallest is None:
        return "No deployment that was tried holds it."
    return f"The smallest that holds it is {place(answer, answer.smallest)}."


def layout(deployment: Deployment) -> str:
    """Return the parallel sizes above 1, such as "TP8 PP2".

    Parameters
    ----------
    deployment : Deployment
        The sizes.

    Returns
    -------
    str
        TP too where it is 1, unless attention is in copies; so a single GPU is "TP1".
    """
    return deployment.layout


def place(answer: FitAnswer, memory: MemoryFit) -> str:
    """Return where a deployment runs, such as "16 x B200-SXM over 2 nodes (TP8 PP2)".

    Parameters
    ----------
    answer : FitAnswer
        For the accelerator and its node.
    memory : MemoryFit
        The deployment.

    Returns
    -------
    str
    """
    gpus, nodes = memory.deployment.gpus, answer.nodes_of(memory)
    where = f"{gpus} x {gpu_label(answer.gpu)}"
    if nodes > 1:
        where += f" over {nodes} nodes"
    elif gpus == answer.node_gpus and gpus > 1:
        where = f"one node of {where}"
    return where if gpus == 1 else f"{where} ({layout(memory.deployment)})"


def requests_held(memory: MemoryFit) -> str:
    """Return how many requests of the asked length the pool holds, in words."""
    held = memory.max_concurrency
    number = f"{held:,.1f}" if held < 100 else f"{held:,.0f}"
    what = "request" if number == "1.0" else "requests"
    tokens = "token" if memory.request_tokens == 1 else "tokens"
    return f"enough for {number} {what} of {memory.request_tokens:,} {tokens}"


def reason(memory: MemoryFit) -> str:
    """Return why a deployment does not fit, with the numbers of the rank that decides.

    Parameters
    ----------
    memory : MemoryFit
        A deployment that does not fit.

    Returns
    -------
    str
    """
    rank = memory.per_rank
    budget = rank.budget_bytes / GIB
    fixed_bytes = rank.weights_bytes + rank.activation_bytes + rank.graph_bytes + rank.non_torch_bytes
    if rank.weights_bytes > rank.budget_bytes:
        weights = rank.weights_bytes / GIB
        return f"weights alone take {weights:,.1f} GiB of each GPU, where {budget:,.1f} GiB can be used"
    if rank.available_bytes <= 0:
        return (
            f"weights and working memory take {fixed_bytes / GIB:,.1f} GiB of each GPU, "
            f"where {budget:,.1f} GiB can be used"
        )
    wanted = max(memory.concurrency, 1)
    needed = wanted * memory.needed_kv_bytes
    if memory.holds or needed <= rank.kv_pool_bytes:
        return memory.binding_limit  # the host's memory, or an option
    what = "one request" if wanted == 1 else f"{wanted:,} requests"
    return (
        f"{what} of {memory.request_tokens:,} tokens would take {needed / GIB:,.1f} GiB of KV cache in each "
        f"GPU, where {rank.kv_pool_bytes / GIB:,.1f} GiB is left"
    )
