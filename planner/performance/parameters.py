"""The named parameters of the time model: what each multiplies, and its value before any calibration.

A time is a nominal time of physics times exp(parameter). Nominal efficiencies and floors are medians over
measured kernels (`measurements/kernels/`); a calibration moves the parameters by engine, GPU, format and
model, all of them by amounts that shrink to nothing where there is no data.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

PARAMETERS = MappingProxyType(
    {
        "dense_read": "reading the weights of dense matrices in decode",
        "dense_compute": "multiplying with dense matrices in decode",
        "expert_read": "reading the weights of chosen experts in decode",
        "expert_compute": "multiplying with experts in decode",
        "attention": "reading and multiplying with the cache in decode",
        "launch": "floors of kernels",
        "collective_latency": "collectives of the smallest message in decode",
        "collective_bytes": "what larger messages add in decode",
        "host": "host time of a step that the GPU waits for",
        "sampling": "logits, sampling and detokenising of each request",
        "prefill_matrices": "matrices and experts in prefill",
        "prefill_attention": "attention in prefill",
        "prefill_collectives": "collectives in prefill",
        "prefill_fixed": "what a prefill costs however short it is",
        "sharing": "how much of the prefills of others a decoding request waits for",
        "wait": "decode steps that a new request waits before its prefill starts",
        "queue": "waiting behind other prefills",
        "wave": "share of the first wave of simultaneous requests in a mean TTFT",
        "first_token": "from the end of the prefill to the client",
        "acceptance": "tokens of a step of speculation",
        "decode": "every decode step",
        "prefill": "every prefill",
        "output": "output rate at a given step time: ramps, gaps between requests",
        "pool": "memory of the KV pool",
        "ttft": "TTFT beside everything else",
    }
)
"""Each parameter and what it multiplies."""

INDEX = MappingProxyType({name: i for i, name in enumerate(PARAMETERS)})

READ_DENSE, READ_EXPERTS, READ_CACHE = 0.86, 0.90, 0.85
"""Share of memory bandwidth that kernels reach."""
MATRIX_SHARE = MappingProxyType({"bf16": 0.70, "fp8": 0.55, "fp4": 0.38})
EXPERT_SHARE = MappingProxyType({"bf16": 0.42, "fp8": 0.30, "fp4": 0.22})
"""Share of dense peak that matrix products reach, by width of the arithmetic."""
ATTENTION_DECODE_SHARE, ATTENTION_PREFILL_SHARE = 0.45, 0.55
RECURRENCE_SHARE = 0.10
"""Share of BF16 peak of linear attention."""

LAUNCH_S = MappingProxyType(
    {
        "gemm": 4e-6,
        "norm": 1.5e-6,
        "attention": 10e-6,
        "latent": 20e-6,
        "moe_gemm": 11e-6,
        "linear_attention": 16e-6,
        "index": 16e-6,
    }
)
"""Floor of one kernel [s]."""

HEIGHT = 24.0
"""Tokens by which a matrix product is taller than it must be, by tiles that it fills in part."""
PREFILL_LAYER_S, PREFILL_S = 0.4e-3, 10e-3
"""What a prefill costs for each layer, and once, however short it is [s]."""
SAMPLE_S = 6e-6
"""Sampling of one request [s]."""
FIRST_TOKEN_S = 15e-3
"""From the end of a prefill to the client [s]."""
DRAFT_LAYERS, DRAFT_S = 1.3, 60e-6
"""A draft pass costs so many layers of the model, and a floor [s]."""
CHUNK_TOKENS = 8192.0
"""Tokens of a step that prefills [tokens]."""
WAVE_SHARE = 0.05
"""Of a run's requests, the share that arrives at once at the start, times the mean wait in that wave."""
IMBALANCE = 0.6
"""Fullest expert rank over the mean: 1 + this x sqrt((ranks - 1) / choices)."""


def neutral(count: int = 1) -> Array:
    """Return parameters that change nothing.

    Parameters
    ----------
    count : int
        Operating points.

    Returns
    -------
    array, shape (count, parameters)
    """
    return np.zeros((count, len(PARAMETERS)))


def factor(parameters: Array, name: str) -> Array:
    """Return exp(parameter) of every operating point.

    Parameters
    ----------
    parameters : array, shape (N, parameters)
        Logarithms of factors.
    name : str
        One of `PARAMETERS`.

    Returns
    -------
    array, shape (N,)
    """
    return np.asarray(np.exp(parameters[:, INDEX[name]]))
