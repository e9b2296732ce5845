"""A deployment in numbers: nominal seconds for each token, byte and entry.

Every later question (a step, a prefill, a steady state, a million points of a sweep) is closed form in these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from planner.performance.parameters import Array

GRID = 2.0 ** np.arange(0, 21, dtype=float)
"""Tokens at which the time of collectives is laid out; between them it is linear in log2 of the tokens."""

ENDLESS = 1e15
"""Limit of entries where there is none."""

MIXINGS = 10
"""Kinds of mixing of one model, at most; the smallest caches beyond that are left out."""


def _nothing() -> Array:
    """Return the time of a host that has no part."""
    return np.zeros(1)


def _one() -> Array:
    """Return a divisor that changes nothing, or what holds of most engines."""
    return np.ones(1)


def _endless() -> Array:
    """Return a limit where there is none."""
    return np.full(1, ENDLESS)


@dataclass(frozen=True, slots=True)
class Profile:
    """One deployment, or one for each of N operating points; every field is an array of 1 or N in front.

    Times are nominal: at the efficiencies and floors of `parameters`, before calibration.

    Parameters
    ----------
    tp, dp, ep, pp : array
        Parallel sizes.
    layers : array
        Layers of the model.
    dense_read_s : array
        Reading all dense weights of a rank once.
    dense_token_s : array
        Multiplying one token with them.
    head_read_s, head_token_s : array
        The same of the LM head.
    expert_read_s : array
        Reading all experts of a rank once.
    expert_token_s : array
        What one token of the whole expert group costs a rank, at even load.
    dense_light_s, expert_light_s : array
        The same two at dense peak: what no kernel beats.
    choice : array
        Share of the experts that a token chooses; 0 without experts.
    chosen : array
        Experts that a token chooses.
    activation_token_s : array
        Activations that one token makes kernels read and write beside weights and caches.
    launch_s, draft_launch_s : array
        Floors of all kernels of a decode step, and of one layer.
    collective_s : array, shape (N, grid)
        Collectives of a decode step at `GRID` tokens.
    prefill_collective_s : array, shape (N, grid)
        The same of a prefill, without what only decodes or only samples.
    logit_token_s : array
        Passing over the logits of one token.
    decode_slow, prefill_slow : array
        How many times longer whole steps take with the kernels that were assumed, where that was measured.
    host_s : array
        Host time of a decode step.
    state_s, state_bytes : array
        Reading and writing the recurrent states of one request, and what they take.
    recurrence_token_s : array
        Linear attention of one token.
    expand_token_s : array
        Bringing one cached token back into keys and values before a prefill.
    pool_bytes : array
        KV pool of one rank.
    weight_bytes : array
        Weights of one rank.
    host_read_s, host_expert_s, host_token_s, host_entry_s, host_sequence_s : array
        Of what is not on the GPU: reading dense weights once and all experts once, multiplying one token,
        reading one entry of the caches beside the CPU's layers and what each request has there.
    host_stream_s, host_stream_token_s, host_least, host_chunk : array
        Copying it to the GPU once, multiplying one token of a prefill with it there, from how many tokens
        that is done, and tokens of a pass.
    fills_stages : array
        1 where parts of the requests follow one another through a pipeline, 0 where a step takes all of them.
    slots : array
        Requests at once, at most, where each has room of its own; `ENDLESS` where they share a pool.
    entry_s, entry_bytes, decode_entry_s, prefill_pair_s, limit, stride, kept : array, shape (N, mixings)
        Of each kind of mixing, over all its layers: reading one entry of a request, the bytes it keeps for
        it, multiplying one query with it in decode and in prefill, up to how many tokens of context it looks,
        how many tokens share an entry, and up to how many tokens entries are kept.
    """

    tp: Array
    dp: Array
    ep: Array
    pp: Array
    layers: Array
    dense_read_s: Array
    dense_token_s: Array
    head_read_s: Array
    head_token_s: Array
    expert_read_s: Array
    expert_token_s: Array
    dense_light_s: Array
    expert_light_s: Array
    choice: Array
    chosen: Array
    activation_token_s: Array
    launch_s: Array
    collective_s: Array
    prefill_collective_s: Array
    logit_token_s: Array
    decode_slow: Array
    prefill_slow: Array
    host_s: Array
    state_s: Array
    state_bytes: Array
    recurrence_token_s: Array
    expand_token_s: Array
    pool_bytes: Array
    weight_bytes: Array
    entry_s: Array
    entry_bytes: Array
    decode_entry_s: Array
    prefill_pair_s: Array
    limit: Array
    stride: Array
    kept: Array
    host_read_s: Array = field(default_factory=_nothing)
    host_expert_s: Array = field(default_factory=_nothing)
    host_token_s: Array = field(default_factory=_nothing)
    host_entry_s: Array = field(default_factory=_nothing)
    host_sequence_s: Array = field(default_factory=_nothing)
    host_stream_s: Array = field(default_factory=_nothing)
    host_stream_token_s: Array = field(default_factory=_nothing)
    host_least: Array = field(default_factory=_nothing)
    host_chunk: Array = field(default_factory=_one)
    fills_stages: Array = field(default_factory=_one)
    slots: Array = field(default_factory=_endless)

    @property
    def ranks(self) -> Array:
        """Return the GPUs of one copy."""
        return self.tp * self.dp * self.pp


def stack(profiles: Sequence[Profile], index: Sequence[int] | np.ndarray) -> Profile:
    """Return one profile for each operating point.

    Parameters
    ----------
    profiles : sequence of Profile
        Deployments, each of one row.
    index : sequence of int
        Which of them each point has.

    Returns
    -------
    Profile
        With N rows.
    """
    chosen = np.asarray(index, dtype=np.intp)
    columns = {
        each.name: np.concatenate([getattr(profile, each.name) for profile in profiles])[chosen]
        for each in fields(Profile)
    }
    return Profile(**columns)


def take(profile: Profile, index: np.ndarray) -> Profile:
    """Return some rows of a profile of N."""
    return Profile(**{each.name: getattr(profile, each.name)[index] for each in fields(Profile)})
