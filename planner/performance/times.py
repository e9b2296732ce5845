"""How long a decode step and a prefill take, for many operating points at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.parameters import (
    ATTENTION_PREFILL_SHARE,
    DRAFT_LAYERS,
    DRAFT_S,
    HEIGHT,
    IMBALANCE,
    PREFILL_LAYER_S,
    PREFILL_S,
    READ_CACHE,
    READ_DENSE,
    READ_EXPERTS,
    SAMPLE_S,
    Array,
    factor,
)
from planner.performance.pipeline import decode_parts
from planner.performance.profile import GRID, Profile

DENSE_OVERLAP, EXPERT_OVERLAP = 3.0, 1.5
"""Powers of the sums of reading and multiplying: infinity overlaps both, 1 adds them up."""
LIGHT_POWER, LIGHT_MARGIN = 8.0, 1.02
"""A step is never faster than its bytes at nameplate bandwidth; the power rounds the bend."""

_LAST = len(GRID) - 1


@dataclass(frozen=True, slots=True)
class StepParts:
    """The parts of one decode step [s]; together they are the step."""

    dense: Array
    experts: Array
    attention: Array
    launch: Array
    collectives: Array
    host: Array
    sampling: Array
    drafting: Array
    offload: Array
    """What the host adds, whose times no calibration of GPUs moves."""

    @property
    def total(self) -> Array:
        """Return the whole step [s]."""
        return (
            self.dense
            + self.experts
            + self.attention
            + self.launch
            + self.collectives
            + self.host
            + self.sampling
            + self.drafting
            + self.offload
        )


def together(first: Array, second: Array, power: float) -> Array:
    """Return how long two things take that overlap in part: between the longer one and the sum.

    Parameters
    ----------
    first, second : array
        Times [s].
    power : float
        1 adds up; infinity is the longer one.

    Returns
    -------
    array
        (first^p + second^p)^(1/p) [s].
    """
    longer, shorter = np.maximum(first, second), np.minimum(first, second)
    ratio = shorter / np.maximum(longer, 1e-30)
    return np.asarray(longer * (1 + ratio**power) ** (1 / power))


def decode_step(
    profile: Profile,
    parameters: Array,
    batch: Array,
    context: Array,
    drafted: Array | float = 0.0,
    parts: Array | None = None,
) -> StepParts:
    """Return the parts of one decode step.

    Parameters
    ----------
    profile : Profile
        Deployments.
    parameters : array, shape (N, parameters)
        Logarithms of factors.
    batch : array
        Requests that decode in one copy of the deployment.
    context : array
        Their mean context [tokens].
    drafted : array
        Tokens drafted for each step.
    parts : array, optional
        Parts of the requests that follow one another through a pipeline; None is as many as there can be.

    Returns
    -------
    StepParts
        Each of shape (N,) [s].
    """
    queries = 1.0 + drafted
    each = batch / (decode_parts(profile, batch) if parts is None else parts)
    sequences = np.maximum(each / profile.dp, 1.0)
    tokens = sequences * queries
    group = np.maximum(each, 1.0) * queries
    dense = together(
        (profile.dense_read_s + profile.head_read_s) * factor(parameters, "dense_read"),
        (profile.dense_token_s + profile.head_token_s)
        * (tokens + HEIGHT)
        * factor(parameters, "dense_compute"),
        DENSE_OVERLAP,
    )
    dense = dense + profile.activation_token_s * tokens
    experts = expert_s(
        profile, group, factor(parameters, "expert_read"), factor(parameters, "expert_compute")
    )
    met = np.minimum(context[:, None], profile.limit) / profile.stride
    reading = (profile.entry_s * met).sum(1) * sequences
    scoring = (profile.decode_entry_s * met).sum(1) * tokens
    attention = together(reading, scoring, DENSE_OVERLAP) + profile.state_s * sequences
    attention = attention * factor(parameters, "attention")
    launch = profile.launch_s * factor(parameters, "launch")
    latency, moving = collectives(profile.collective_s, tokens)
    latency = latency * factor(parameters, "collective_latency")
    moving = moving * factor(parameters, "collective_bytes")
    layer = (dense + experts + launch + latency) / profile.layers
    light = reading_s(profile, sequences, group, context)
    host = profile.host_s * factor(parameters, "host")
    sampling = (sequences * SAMPLE_S + tokens * profile.logit_token_s) * factor(parameters, "sampling")
    drafting = drafted * (layer * DRAFT_LAYERS + DRAFT_S)
    step = dense + experts + attention + launch + latency + moving + host + sampling + drafting
    calibrated = step * profile.decode_slow * factor(parameters, "decode")
    every = together(calibrated, light * LIGHT_MARGIN, LIGHT_POWER) / step
    return StepParts(
        dense=dense * every,
        experts=experts * every,
        attention=attention * every,
        launch=launch * every,
        collectives=(latency + moving) * every,
        host=host * every,
        sampling=sampling * every,
        drafting=drafting * every,
        offload=host_step_s(profile, sequences, tokens, group, context),
    )


def host_step_s(profile: Profile, sequences: Array, tokens: Array, group: Array, context: Array) -> Array:
    """Return what the host's part of a decode step takes.

    Parameters
    ----------
    profile : Profile
        Deployments.
    sequences, tokens, group : array
        Requests and tokens of an attention rank, and tokens of all ranks that share the experts.
    context : array
        Mean context [tokens].

    Returns
    -------
    array
        Reading or multiplying weights, whichever takes longer, and reading caches [s].
    """
    if not (profile.host_read_s.any() or profile.host_expert_s.any()):
        return np.zeros_like(tokens)
    hit = -np.expm1(group * np.log1p(-profile.choice))
    reading = profile.host_read_s + profile.host_expert_s * hit
    caches = (profile.host_entry_s * context + profile.host_sequence_s) * sequences
    return together(reading, profile.host_token_s * tokens, DENSE_OVERLAP) + caches


def host_prefill_s(profile: Profile, tokens: Array) -> Array:
    """Return what the host adds to a prefill of so many tokens: copies to the GPU, or its own work [s]."""
    if not (profile.host_read_s.any() or profile.host_expert_s.any()):
        return np.zeros_like(tokens)
    passes = np.ceil(tokens / profile.host_chunk)
    copied = profile.host_stream_s * passes + profile.host_stream_token_s * tokens
    own = together(profile.host_read_s + profile.host_expert_s, profile.host_token_s * tokens, DENSE_OVERLAP)
    return np.where(tokens >= profile.host_least, copied, own)


def reading_s(profile: Profile, sequences: Array, group: Array, context: Array) -> Array:
    """Return the time to read weights and caches once at nameplate bandwidth.

    Parameters
    ----------
    profile : Profile
        Deployments.
    sequences : array
        Requests on an attention rank.
    group : array
        Tokens of all ranks that share the experts.
    context : array
        Mean context [tokens].

    Returns
    -------
    array
        Time [s].
    """
    hit = -np.expm1(group * np.log1p(-profile.choice))
    met = np.minimum(context[:, None], profile.limit) / profile.stride
    cache = ((profile.entry_s * met).sum(1) + profile.state_s) * sequences
    return np.asarray(
        (profile.dense_read_s + profile.head_read_s) * READ_DENSE
        + profile.expert_read_s * hit * READ_EXPERTS
        + cache * READ_CACHE
    )


def prefill(
    profile: Profile,
    parameters: Array,
    new: Array,
    cached: Array,
    *,
    floors: bool = True,
    once: bool = True,
    copies: Array | float = 1.0,
) -> Array:
    """Return how long a prefill takes on one attention rank of each copy.

    Parameters
    ----------
    profile : Profile
        Deployments.
    parameters : array, shape (N, parameters)
        Logarithms of factors.
    new, cached : array
        New tokens of a request and tokens before them [tokens].
    floors : bool
        Whether to count what every layer costs however few tokens pass it.
    once : bool
        Whether to count what the engine spends on a prefill once.
    copies : array
        Requests that are in one pass together.

    Returns
    -------
    array
        Time of the pass [s].
    """
    tokens = new * copies
    dense = together(
        profile.dense_read_s, profile.dense_token_s * (tokens + HEIGHT), DENSE_OVERLAP
    ) + together(profile.head_read_s, profile.head_token_s * (copies + HEIGHT), DENSE_OVERLAP)
    experts = expert_s(profile, tokens * profile.dp, 1.0, 1.0)
    streams = (profile.activation_token_s + profile.recurrence_token_s) * tokens
    matrices = dense + experts + streams + profile.expand_token_s * cached * copies
    total = cached + new
    every_pair = (total**2 - cached**2) / 2
    pairs = np.minimum(every_pair[:, None], profile.limit * new[:, None]) / profile.stride
    attention = (profile.prefill_pair_s * pairs).sum(1) * copies
    latency, moving = collectives(profile.prefill_collective_s, tokens)
    time = (
        matrices * factor(parameters, "prefill_matrices")
        + attention * factor(parameters, "prefill_attention")
        + (latency + moving) * factor(parameters, "prefill_collectives")
    )
    least = floors * profile.layers * PREFILL_LAYER_S + once * PREFILL_S
    time = time + least * factor(parameters, "prefill_fixed")
    light = (
        profile.dense_light_s * tokens
        + profile.expert_light_s * tokens * profile.dp
        + attention * ATTENTION_PREFILL_SHARE
    )
    time = time * profile.prefill_slow * factor(parameters, "prefill")
    return together(time, light * LIGHT_MARGIN, LIGHT_POWER) + host_prefill_s(profile, tokens)


def expert_s(profile: Profile, group: Array, read: Array | float, compute: Array | float) -> Array:
    """Return the time of routed experts: reading those that any token chose, and the fullest rank's work.

    Parameters
    ----------
    profile : Profile
        Deployments.
    group : array
        Tokens of all ranks that share the experts.
    read, compute : array
        Factors.

    Returns
    -------
    array
        Time [s], 0 without experts.
    """
    hit = -np.expm1(group * np.log1p(-profile.choice))
    choices = np.maximum(group * profile.chosen, 1.0)
    uneven = 1 + IMBALANCE * np.minimum(np.sqrt(np.maximum(profile.ep - 1, 0) / choices), 2.0)
    return together(
        profile.expert_read_s * hit * read, profile.expert_token_s * group * uneven * compute, EXPERT_OVERLAP
    )


def collectives(table: Array, tokens: Array) -> tuple[Array, Array]:
    """Return the time of collectives with one token, and what more tokens add.

    Parameters
    ----------
    table : array, shape (1 or N, grid)
        Times at `GRID` tokens [s].
    tokens : array
        Tokens of an attention rank.

    Returns
    -------
    tuple of array
        Latency and the rest [s].
    """
    at = np.log2(np.clip(tokens, 1.0, GRID[-1]))
    below = np.minimum(at.astype(np.intp), _LAST - 1)
    share = np.clip(tokens, 1.0, None) / GRID[below] - 1
    row = np.arange(len(at)) if len(table) > 1 else np.zeros(len(at), dtype=np.intp)
    low, high = table[row, below], table[row, below + 1]
    return table[:, 0] + 0.0 * at, low + (high - low) * share - table[:, 0]
