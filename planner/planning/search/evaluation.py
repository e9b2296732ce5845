"""Many candidates under many loads at once: one steady state for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.catalogue import Catalogue, Gpu, Model
from planner.memory.setup import engine_name
from planner.performance.disaggregation import kv_transfer
from planner.performance.intervals import QUANTITIES, width
from planner.performance.levels import LOAD_ENDS, Calibration
from planner.performance.parameters import Array
from planner.performance.profile import Profile, stack, take
from planner.performance.steady import FULLY_BUSY, SERVICE, Points, Steady, steady_state
from planner.planning.search.kinds import CLASSES, Kinds
from planner.planning.search.options import Option
from planner.planning.search.units import Unit

BLOCK = 4096
"""Points that are solved together, so that they stay in the cache of the core."""
MIXED = ("entry_s", "entry_bytes", "decode_entry_s", "prefill_pair_s", "limit", "stride", "kept")

ROUNDING = 1e-9
"""What a whole number of requests may be short of, as the pool is divided by their bytes."""


@dataclass(frozen=True, slots=True)
class Found:
    """What candidates yield, an array of N for each.

    Parameters
    ----------
    option : array of int
        The candidate.
    concurrency : array
        Requests in the system.
    output_tps : array
        Generated tokens of all GPUs [tok/s].
    tpot_s, ttft_s : array
        Medians [s].
    prefill_share : array
        Share of the GPUs' time that goes to prefill; of the GPUs where prefill has its own.
    busy : array
        Share of the time that what prefills does so.
    """

    option: np.ndarray
    concurrency: Array
    output_tps: Array
    tpot_s: Array
    ttft_s: Array
    prefill_share: Array
    busy: Array

    def take(self, index: np.ndarray) -> Found:
        """Return some of the points."""
        return Found(*(getattr(self, name)[index] for name in self.__dataclass_fields__))


class Evaluator:
    """Answers for candidates by number.

    Parameters
    ----------
    units, options : sequence
        Copies that can run, and how many of them make a candidate.
    model, gpu, catalogue
        What they are of.
    calibration : Calibration
        Parameters.
    isl, osl, hit : float
        Lengths [tokens], and the share of the input that is cached.
    """

    def __init__(
        self,
        *,
        units: Sequence[Unit],
        options: Sequence[Option],
        model: Model,
        gpu: Gpu,
        catalogue: Catalogue,
        calibration: Calibration,
        isl: float,
        osl: float,
        hit: float,
    ) -> None:
        self.units, self.options = units, options
        self.isl, self.osl, self.hit = isl, osl, hit
        self._profiles = _narrow(stack([unit.profile for unit in units], np.arange(len(units))))
        columns = np.array([(o.unit, o.copies, o.filling, o.filling_copies, o.gpus) for o in options])
        self.unit, self.copies, self.filling, _, self.gpus = columns.T
        self.layout = self.unit * (len(units) + 1) + self.filling + 1
        sizes = np.array([unit.deployment.gpus for unit in units])
        self.prefill_gpus = np.where(self.filling < 0, 0, sizes[self.filling] * columns[:, 3])
        self._transfer_s = np.array(
            [0.0] + [self._transfer(catalogue, gpu, unit) for unit in self._fillers()]
        )
        accepted = [unit.acceptance.tokens if unit.acceptance else 1.0 for unit in units]
        self._tokens = np.array(accepted)
        self._drafted = np.array([float(unit.deployment.speculative_tokens) for unit in units])
        engine = catalogue.resolve("stacks", engine_name(units[0].deployment.engine)[0])
        kinds = Kinds(model=model, gpu=gpu, engine=engine, isl=isl, osl=osl)
        self.kinds = np.array([kinds.index(units[one.unit], one.filling >= 0) for one in options])
        self._together = np.array([kinds.index(units[one.unit], False) for one in options])
        self._parameters = kinds.parameters(calibration)
        self.distances = [calibration.distance(case) for case in kinds.cases]
        self.widths = {
            name: np.array([width(calibration, name, case) for case in kinds.cases]) for name in QUANTITIES
        }

    def _fillers(self) -> list[Unit]:
        """Return the units that only prefill, and set where each candidate finds its own."""
        used = np.unique(self.filling[self.filling >= 0])
        self._filler = np.where(self.filling < 0, 0, np.searchsorted(used, self.filling) + 1)
        return [self.units[place] for place in used]

    def _transfer(self, catalogue: Catalogue, gpu: Gpu, unit: Unit) -> float:
        return kv_transfer(catalogue=catalogue, gpu=gpu, profile=unit.profile, isl=self.isl).time_s

    def most_at_once(self) -> Array:
        """Return the requests that each candidate runs at once: what pool and engine allow each copy."""
        every = np.arange(len(self.options))
        pool = self._alone(every).most
        engine = np.array([unit.most_at_once for unit in self.units])[self.unit]
        return np.asarray(np.maximum(np.floor(np.minimum(pool, engine) + ROUNDING), 1.0) * self.copies)

    def quickest_token_s(self, option: np.ndarray) -> Array:
        """Return the time between tokens of a request that a decoding copy of each candidate has to itself.

        Where prefill has its own GPUs another runtime serves, and its calibration was learnt under load: what
        is faster than the same copy alone is that difference, not a gain.
        """
        return np.asarray(self._alone(option).tpot_s)

    def _alone(self, option: np.ndarray) -> Steady:
        """Return the steady state of one request on one copy that prefills and decodes."""
        one, none = np.ones(len(option)), np.zeros(len(option))
        points = replace(self._points(option, one), copies=one, prefill_gpus=none, transfer_s=none)
        profile = take(self._profiles, self.unit[option])
        return steady_state(profile, self._parameters[self._together[option] * CLASSES], points)

    def at(self, option: np.ndarray, concurrency: Array) -> Found:
        """Return what candidates yield.

        Parameters
        ----------
        option : array of int
            Candidates by number.
        concurrency : array
            Requests in the system, one for each.

        Returns
        -------
        Found
        """
        out = np.empty((5, len(option)))
        together = self.filling[option] < 0
        for apart, rows in ((False, np.flatnonzero(together)), (True, np.flatnonzero(~together))):
            for start in range(0, len(rows), BLOCK):
                chosen = rows[start : start + BLOCK]
                out[:, chosen] = self._block(option[chosen], concurrency[chosen], apart)
        return Found(option, concurrency, *out)

    def _block(self, option: np.ndarray, load: Array, apart: bool) -> Array:
        unit = self.unit[option]
        profile = take(self._profiles, unit)
        filling = take(self._profiles, self.filling[option]) if apart else None
        kind = self.kinds[option] * CLASSES + np.searchsorted(LOAD_ENDS, load, side="left")
        points = self._points(option, load)
        found = steady_state(profile, self._parameters[kind], points, filling)
        rate = found.output_tps / self.osl / points.copies
        busy = np.minimum(rate * found.prefill_s / FULLY_BUSY, 1.0)
        share = points.prefill_gpus / points.gpus if apart else busy
        return np.asarray(np.stack([found.output_tps, found.tpot_s, found.ttft_s, share, busy]))

    def _points(self, option: np.ndarray, load: Array) -> Points:
        unit, count = self.unit[option], len(option)
        return Points(
            isl=np.full(count, self.isl),
            osl=np.full(count, self.osl),
            concurrency=np.asarray(load, dtype=float),
            hit=np.full(count, self.hit),
            copies=self.copies[option].astype(float),
            gpus=self.gpus[option].astype(float),
            prefill_gpus=self.prefill_gpus[option].astype(float),
            transfer_s=self._transfer_s[self._filler[option]],
            drafted=self._drafted[unit],
            tokens_per_step=self._tokens[unit],
            kind=np.full(count, SERVICE),
        )


def _narrow(profiles: Profile) -> Profile:
    """Return profiles without kinds of mixing that none of them has, where that leaves every sum the same."""
    used = int(max((profiles.entry_s > 0).sum(1).max(), (profiles.prefill_pair_s > 0).sum(1).max(), 1))
    if used > 2:
        return profiles
    return replace(profiles, **{name: getattr(profiles, name)[:, :used] for name in MIXED})
