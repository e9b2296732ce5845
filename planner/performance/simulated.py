"""The time model as the request-level simulation asks for it: one engine step of decoding and prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.performance.parameters import Array, neutral
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
        asked = (decode_requests, decode_context_tokens, prefill_tokens, prefill_context_tokens)
        arrays = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in asked))
        requests, contexts, prompts, cached = (array.ravel() for array in arrays)
        parameters = np.broadcast_to(self.parameters, (requests.size, self.parameters.shape[1]))
        mean = contexts / np.maximum(requests, 1.0)
        # A copy of attention sees its own requests; experts see those of all copies.
        batch = requests * self.profile.dp * self.profile.pp
        decoding = decode_step(self.profile, parameters, batch, mean, float(self.drafted)).total
        decoding = np.where(requests > 0, decoding, 0.0)
        tokens = np.maximum(prompts, 1.0)
        alone = prefill(self.profile, parameters, tokens, cached)
        bare = {"floors": False, "once": False}
        added = prefill(self.profile, parameters, tokens, cached, **bare)
        added = added - prefill(self.profile, parameters, np.ones_like(tokens), 0 * cached, **bare)
        prompting = np.where(requests > 0, np.maximum(added, 0.0), alone)
        total = decoding + np.where(prompts > 0, prompting, 0.0)
        return total.reshape(arrays[0].shape) if arrays[0].ndim else float(total[0])


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
