"""A service of one or several copies of a deployment, asked about many operating points at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from planner.catalogue import Catalogue
from planner.errors import Overload
from planner.performance.acceptance import Acceptance
from planner.performance.deployed import Deployed
from planner.performance.disaggregation import kv_transfer
from planner.performance.levels import Calibration, Circumstances, load_classes
from planner.performance.parameters import Array
from planner.performance.steady import SERVICE, STATIC, Points, Steady, steady_state

RUNTIMES = {
    ("vllm", "NVIDIA"): "dynamo-vllm",
    ("sglang", "NVIDIA"): "dynamo-sglang",
    ("tensorrt-llm", "NVIDIA"): "dynamo-trtllm",
    ("sglang", "AMD"): "mori-sglang",
    ("vllm", "AMD"): "vllm-disagg",
}
"""What usually serves with prefill on GPUs of its own."""

FULL = 64.0
"""So many times the pool's requests fill a service: its rate is then its capacity."""
SATURATED = 0.98
"""Above this share of capacity queues have no steady length."""
HALVINGS = 60
LEAST_AT_ONCE = 1e-9
"""Requests in the system at a rate next to nothing."""


@dataclass(frozen=True, slots=True)
class Service:
    """Copies of a deployment, with or without a pool of their own for prefill.

    Parameters
    ----------
    decode : Deployed
        What decodes, and prefills too where `prefill` is None.
    copies : int
        How many there are.
    prefill : Deployed or None
        What only prefills.
    prefill_copies : int
        How many of those there are.
    transfer_s : float
        Time to move the cache of a request of the asked length [s].
    drafted : int
        Tokens drafted for each step.
    acceptance : Acceptance or None
        What a step of speculation yields.
    static : bool
        Whether batches start and end together.
    calibration : Calibration
        Parameters.
    """

    decode: Deployed
    copies: int
    prefill: Deployed | None
    prefill_copies: int
    transfer_s: float
    drafted: int
    acceptance: Acceptance | None
    static: bool
    calibration: Calibration

    @property
    def gpus(self) -> int:
        """Return all GPUs."""
        return self.decode.deployment.gpus * self.copies + self.prefill_gpus

    @property
    def prefill_gpus(self) -> int:
        """Return the GPUs that only prefill."""
        return self.prefill.deployment.gpus * self.prefill_copies if self.prefill else 0

    def case(self, isl: float, osl: float, concurrency: float) -> Circumstances:
        """Return what the calibration tells apart of an operating point.

        Cached input is a service like any other here: the points that calibrate it are replays of agents,
        whose pauses and lengths are another load than a share of cached prompts.
        """
        decode = self.decode
        engine, vendor = decode.calibrated_as, decode.gpu.vendor
        apart = self.prefill is not None
        return Circumstances(
            model=decode.model.id,
            family=decode.architecture.family,
            gpu=decode.gpu.id,
            architecture=decode.gpu.architecture,
            vendor=vendor,
            engine=engine,
            runtime=RUNTIMES.get((engine, vendor), engine) if apart else engine,
            quantisation=decode.main_format,
            kind="static" if self.static else "service",
            disaggregated=apart,
            speculative=self.drafted > 0,
            expert_parallel=decode.deployment.ep > 1,
            attention_copies=decode.deployment.dp > 1,
            crosses_nodes=decode.crosses_nodes,
            isl=isl,
            osl=osl,
            concurrency=concurrency,
        )

    def at(self, isl: ArrayLike, osl: ArrayLike, concurrency: ArrayLike, hit: ArrayLike = 0.0) -> Steady:
        """Return what operating points yield.

        Parameters
        ----------
        isl, osl, concurrency, hit : array_like
            Lengths [tokens], requests at once, and share of the input that is cached; they broadcast.

        Returns
        -------
        Steady
        """
        arrays = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(a, float)) for a in (isl, osl, concurrency, hit))
        )
        flat = [np.ascontiguousarray(a).ravel() for a in arrays]
        return steady_state(
            self.decode.profile,
            self.parameters(*flat[:3]),
            self.points(*flat),
            self.prefill.profile if self.prefill else None,
        )

    def parameters(self, isl: Array, osl: Array, concurrency: Array) -> Array:
        """Return the calibrated parameters of points, looked up once for each class of load."""
        classes = np.stack(load_classes(isl, osl, concurrency), 1).astype(np.int64)
        _, first, kind = np.unique(classes, axis=0, return_index=True, return_inverse=True)
        cases = [self.case(isl[i], osl[i], concurrency[i]) for i in first]
        return np.asarray(self.calibration.parameters(cases)[kind.ravel()])

    def points(self, isl: Array, osl: Array, concurrency: Array, hit: Array) -> Points:
        """Return the operating points in the form that the steady state takes."""

        def one(value: float) -> Array:
            return np.full(isl.shape, float(value))

        return Points(
            isl=isl,
            osl=osl,
            concurrency=concurrency,
            hit=hit,
            copies=one(self.copies),
            gpus=one(self.gpus),
            prefill_gpus=one(self.prefill_gpus),
            transfer_s=one(self.transfer_s),
            drafted=one(self.drafted),
            tokens_per_step=one(self.acceptance.tokens if self.acceptance else 1.0),
            kind=np.full(isl.shape, STATIC if self.static else SERVICE),
        )

    def capacity_per_s(self, isl: float, osl: float, hit: float = 0.0) -> float:
        """Return the most requests that can be served [requests/s]."""
        return float(self._capacities(np.array([isl], float), np.array([osl], float), hit)[0])

    def _capacities(self, isl: Array, osl: Array, hit: float) -> Array:
        fill = np.array([0.25, 0.5, 1.0, 4.0, FULL])[:, None]
        full = self.at(isl, osl, fill * self._room(isl, osl, hit), hit).output_tps
        return np.asarray(full.reshape(fill.size, isl.size).max(0) / osl)

    def _room(self, isl: Array, osl: Array, hit: float) -> Array:
        """Return the requests that all pools hold."""
        return np.asarray(self.at(isl, osl, 1.0, hit).most * self.copies)

    def concurrency_at(self, rate: float, isl: float, osl: float, hit: float = 0.0) -> float:
        """Return how many requests are in the system on average when they arrive at a rate.

        Parameters
        ----------
        rate : float
            Arrivals [requests/s].
        isl, osl : float
            Lengths [tokens].
        hit : float
            Share of the input that is cached.

        Returns
        -------
        float
            Where a closed loop of as many yields the rate.

        Raises
        ------
        Overload
            When the rate is above what the service can carry.
        """
        rates, inputs, outputs = (np.array([one], float) for one in (rate, isl, osl))
        found, capacity = self.concurrencies_at(rates, inputs, outputs, hit)
        if np.isnan(found[0]):
            raise Overload(overload_text(rate, float(capacity[0])))
        return float(found[0])

    def concurrencies_at(self, rate: Array, isl: Array, osl: Array, hit: float = 0.0) -> tuple[Array, Array]:
        """Return how many requests are in the system at each rate, and the most that can be served.

        Parameters
        ----------
        rate, isl, osl : array, shape (N,)
            Arrivals [requests/s] and lengths [tokens].
        hit : float
            Share of the input that is cached.

        Returns
        -------
        tuple of array, shape (N,)
            Requests on average, NaN where the rate is above what is served; and the capacity [requests/s].
        """
        lengths, place = np.unique(np.stack([isl, osl]), axis=1, return_inverse=True)
        capacity = self._capacities(lengths[0], lengths[1], hit)[place.ravel()]
        found = np.full(rate.shape, np.nan)
        steady = np.flatnonzero(rate <= SATURATED * capacity)
        if not steady.size:
            return found, capacity
        rate, isl, osl = rate[steady], isl[steady], osl[steady]
        low, high = np.full(steady.size, LEAST_AT_ONCE), FULL * self._room(isl, osl, hit)
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            below = self.at(isl, osl, middle, hit).output_tps / osl < rate
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found[steady] = high
        return found, capacity


def overload_text(rate: float, capacity: float) -> str:
    """Return why a rate cannot be carried, and which can [requests/s]."""
    return (
        f"request rate {rate:g}/s is above what this deployment carries, {capacity:.3g} requests/s; "
        f"the nearest steady rate is {SATURATED * capacity:.3g}/s"
    )


def with_transfer(service: Service, catalogue: Catalogue, isl: float) -> Service:
    """Return the service with the time that the cache of `isl` tokens takes between the pools."""
    if service.prefill is None:
        return service
    found = kv_transfer(
        catalogue=catalogue, gpu=service.prefill.gpu, profile=service.prefill.profile, isl=isl
    )
    return replace(service, transfer_s=found.time_s)
