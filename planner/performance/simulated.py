"""The time model as the request-level simulation asks for it: one engine step of decoding and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.performance.parameters import Array, neutral
from planner.performance.pipeline import most_parts
from planner.performance.profile import Profile
from planner.performance.service import Service
from planner.performance.times import decode_step, prefill


@dataclass(frozen=True, slots=True)
class ServiceStepTimes:
    """Steps of one attention copy of a deployment; all copies are taken to be alike.

    Parameters
    ----------
    profile : Profile
        The deployment.
    parameters : array, shape (1, parameters)
        Logarithms of factors.
    drafted : int
        Tokens drafted for each step.
    """

    profile: Profile
    parameters: Array
    drafted: int = 0

    def step_s(
        self,
        decode_requests: Any,
        decode_context_tokens: Any,
        prefill_tokens: Any,
        prefill_context_tokens: Any,
    ) -> Any:
        """Return the time of one step; see `planner.performance.simulation.times.StepTimes`.

        A step with both reads the weights once: the prompts add what they cost beyond a single token.
        """
        requests, contexts = _pair(decode_requests, decode_context_tokens)
        prompts, cached = _pair(prefill_tokens, prefill_context_tokens)
        decoding = self._decoding(requests, contexts)
        if not prompts.any():
            total = decoding + np.zeros_like(prompts)
        else:
            alone, added = self._prompting(prompts, cached)
            total = decoding + np.where(prompts > 0, np.where(requests > 0, added, alone), 0.0)
        return total if total.ndim else float(total)

    def _decoding(self, requests: Array, contexts: Array) -> Array:
        """Return what a step takes without prompts, 0 where nothing decodes [s]."""
        mean = contexts / np.maximum(requests, 1.0)
        # A copy of attention sees its own requests; experts see those of all copies.
        batch = requests * self.profile.dp * most_parts(self.profile)
        parameters = self._parameters(batch)
        steps = decode_step(self.profile, parameters, batch.ravel(), mean.ravel(), float(self.drafted)).total
        return np.asarray(np.where(requests > 0, steps.reshape(requests.shape), 0.0))

    def _prompting(self, prompts: Array, cached: Array) -> tuple[Array, Array]:
        """Return what prompts take by themselves, and what they add to a step that decodes [s]."""
        parameters, tokens, before = (
            self._parameters(prompts),
            np.maximum(prompts, 1.0).ravel(),
            cached.ravel(),
        )
        alone = prefill(self.profile, parameters, tokens, before)
        bare = {"floors": False, "once": False}
        added = prefill(self.profile, parameters, tokens, before, **bare)
        added = added - prefill(self.profile, parameters, np.ones_like(tokens), 0 * before, **bare)
        return alone.reshape(prompts.shape), np.maximum(added, 0.0).reshape(prompts.shape)

    def _parameters(self, points: Array) -> Array:
        return np.broadcast_to(self.parameters, (points.size, self.parameters.shape[1]))


def _pair(first: Any, second: Any) -> tuple[Array, Array]:
    one, other = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return one, other


def step_times(service: Service, isl: float, osl: float, concurrency: float = 16.0) -> ServiceStepTimes:
    """Return the step times of a service for a simulation.

    Parameters
    ----------
    service : Service
        The deployment.
    isl, osl : float
        Usual lengths [tokens], which the calibration asks for.
    concurrency : float
        Usual load.

    Returns
    -------
    ServiceStepTimes
    """
    load = (np.array([value]) for value in (isl, osl, concurrency))
    parameters = service.parameters(*load) if service.calibration.levels else neutral()
    return ServiceStepTimes(service.decode.profile, parameters, service.drafted)
