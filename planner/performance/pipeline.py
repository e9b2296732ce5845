"""How requests and prompts share the stages of a pipeline.

Two habits of schedulers decide it. Where a step takes only requests that are not in flight, those that run
split into parts that follow one another through the stages: a request stays with those that it first ran
with, so that a batch that starts together has no more parts than it had steps of prefill, while requests
that come and go fill all stages. Where every step takes all requests that run (vLLM's asynchronous scheduler
with its first model runner), a step enters the first stage when the one before has sampled at the last: there
is one part. A part passes all stages in the time that all layers take for it, whichever GPU has them.

Chunks of one prompt yield no token but the last, and follow one another through the stages either way: c of
them take (c + stages - 1) / (c stages) of the time of all layers one after another.
"""

from __future__ import annotations

import numpy as np

from planner.performance.parameters import CHUNK_TOKENS, Array
from planner.performance.profile import Profile


def most_parts(profile: Profile) -> Array:
    """Return how many parts can follow one another: as many as there are stages, or one."""
    return np.where(profile.fills_stages > 0, profile.pp, 1.0)


def decode_parts(profile: Profile, batch: Array, steps: Array | float = np.inf) -> Array:
    """Return the parts of the requests that decode in one copy of a deployment.

    Parameters
    ----------
    profile : Profile
        Deployments.
    batch : array
        Requests that decode.
    steps : array
        Steps in which a batch that started together was prefilled; infinity where requests come and go.
        Between whole numbers the last step was not full, and the largest part is the batch over this number.

    Returns
    -------
    array
        From 1 to the number of stages.
    """
    return np.clip(np.minimum(batch, steps), 1.0, most_parts(profile))


def chunked_share(profile: Profile, tokens: Array) -> Array:
    """Return how long chunks that follow one another take, of the time of all layers one after another.

    Parameters
    ----------
    profile : Profile
        Deployments.
    tokens : array
        Tokens of all chunks.

    Returns
    -------
    array
        (c + stages - 1) / (c stages), with c = tokens / `CHUNK_TOKENS`, at least 1.
    """
    chunks = np.maximum(tokens / CHUNK_TOKENS, 1.0)
    return np.asarray((chunks + profile.pp - 1) / (chunks * profile.pp))


def prompt_share(profile: Profile, tokens: Array, others: Array | float = 0.0) -> Array:
    """Return how long a prompt takes beside others, of the time of all layers one after another.

    Parameters
    ----------
    profile : Profile
        Deployments.
    tokens : array
        New tokens of the prompt.
    others : array
        Other requests at once. Where all of them are in every step, chunks wait for their tokens, which there
        are others / (others + 1) of the time.

    Returns
    -------
    array
        At most 1.
    """
    share = chunked_share(profile, tokens)
    beside = np.where(profile.fills_stages > 0, 0.0, others / (others + 1.0))
    return np.asarray(share + (1 - share) * beside)


def copy_share(profile: Profile, tokens: Array, others: Array | float = 0.0) -> Array:
    """Return what a prompt takes from a copy that is full of work, of the time of all layers.

    Parameters
    ----------
    profile, tokens, others
        As for `prompt_share`.

    Returns
    -------
    array
        1 / stages where other parts fill them, else `prompt_share`.
    """
    return np.where(profile.fills_stages > 0, 1 / profile.pp, prompt_share(profile, tokens, others))


def batch_share(profile: Profile, tokens: Array, requests: Array) -> Array:
    """Return how long the prompts of a batch that starts together take, of the time of all layers.

    Parameters
    ----------
    profile : Profile
        Deployments.
    tokens : array
        New tokens of each prompt.
    requests : array
        Prompts.

    Returns
    -------
    array
        Steps of all prompts follow one another, or the chunks of each prompt alone.
    """
    return chunked_share(profile, np.where(profile.fills_stages > 0, tokens * requests, tokens))
