"""Step-time models that the tests can reason about."""

from __future__ import annotations

from typing import Any

import numpy as np


class Constant:
    """Every step takes the same time."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.seconds = seconds

    def step_s(
        self, decode_requests: Any, decode_context_tokens: Any, prefill_tokens: Any, cached: Any
    ) -> Any:
        return self.seconds


class Affine:
    """A part for the step, for each request, for each token in context and for each prompt token."""

    def step_s(
        self, decode_requests: Any, decode_context_tokens: Any, prefill_tokens: Any, cached: Any
    ) -> Any:
        return (
            5e-3
            + 1e-5 * decode_requests
            + 2e-8 * decode_context_tokens
            + 2e-5 * prefill_tokens
            + 1e-9 * prefill_tokens * cached
        )


class Roofline:
    """The larger of reading and multiplying: bent in the context and in the batch."""

    def step_s(
        self, decode_requests: Any, decode_context_tokens: Any, prefill_tokens: Any, cached: Any
    ) -> Any:
        reading = (16e9 + 131_072 * (decode_context_tokens + cached)) / 3.6e12
        return 1e-3 + np.maximum(reading, 16e9 * (decode_requests + prefill_tokens) / 6e14)
