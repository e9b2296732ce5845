"""What the simulation needs to know of a model on its GPUs: how long one engine step takes."""

from __future__ import annotations

from typing import Any, Protocol


class StepTimes(Protocol):
    """The time of one engine step; anything with this method can be plugged into the simulation."""

    def step_s(
        self,
        decode_requests: Any,
        decode_context_tokens: Any,
        prefill_tokens: Any,
        prefill_context_tokens: Any,
    ) -> Any:
        """Return the time of one step.

        Parameters
        ----------
        decode_requests : number or array
            Requests that decode in the step.
        decode_context_tokens : number or array
            Sum of their contexts, each with the token that the step computes [tokens].
        prefill_tokens : number or array
            New prompt tokens of all requests that prefill in the step [tokens].
        prefill_context_tokens : number or array
            Sum, over these requests, of the tokens that lay in the cache before the step [tokens].

        Returns
        -------
        number or array
            Of the arguments' common shape, above zero [s].
        """
