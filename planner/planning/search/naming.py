"""What people call a deployment."""

from __future__ import annotations

from planner.scenario import Deployment


def label_of(
    deployment: Deployment,
    copies: int,
    prefill: Deployment | None,
    prefill_copies: int,
    base: Deployment,
) -> str:
    """Return the name of a candidate, such as "2 x TP4 EP4" or "prefill 4 x TP1, decode TP4, 3 drafted".

    Parameters
    ----------
    deployment, copies
        One copy, and how many; of the decoding pool where prefill has its own.
    prefill, prefill_copies
        The same of the pool that only prefills.
    base : Deployment
        What was asked for: dtypes are named where they differ.

    Returns
    -------
    str
    """
    name = _times(deployment, copies)
    if prefill is not None:
        name = f"prefill {_times(prefill, prefill_copies)}, decode {name}"
    further = []
    if deployment.weight_dtype != base.weight_dtype:
        further.append(f"{deployment.weight_dtype or 'published'} weights")
    if deployment.kv_dtype != base.kv_dtype:
        further.append(f"{deployment.kv_dtype} KV")
    if deployment.speculative_tokens:
        further.append(f"{deployment.speculative_tokens} drafted")
    return ", ".join([name, *further])


def _times(deployment: Deployment, copies: int) -> str:
    return f"{copies} x {deployment.layout}" if copies > 1 else deployment.layout
