"""One side of a break-even: what it yields at any load, and how it is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.economics import HostedPrice, PricePerHour, Use
from planner.economics.kinds import PAID_WHEN_USED
from planner.economics.monthly import output_tokens_per_month, usd_per_month
from planner.economics.tokens import usd_per_million_tokens
from planner.errors import InvalidInput
from planner.measurement.compared import Compared
from planner.performance.intervals import Estimate
from planner.performance.service import Service
from planner.planning.breakeven import PaidFor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOADS = 29
"""Loads of which the best counts where none is stated: two to a doubling, up to 16,384 requests at once."""


@dataclass(frozen=True, slots=True)
class Load:
    """A load; without a concurrency each deployment is at its best."""

    isl: float
    osl: float
    concurrency: float | None
    prefix_hit: float = 0.0


@dataclass(frozen=True, slots=True)
class Side:
    """One of two options.

    Parameters
    ----------
    name : str
        As people read it, such as "MI355X" or "on-demand".
    use : Use
        Share of paid time that serves.
    found : Compared or None
        The deployment and its figures; None of a hosted API.
    service : Service or None
        The deployment at other loads, after the model.
    price : PricePerHour or None
        Of one GPU.
    hosted : HostedPrice or None
        Of a token, at a hosted API.
    gpu : str
        Id of the accelerator; empty of a hosted API.
    scale : float
        Measured rate over that of the model at the load asked for, with which the model counts at others.
    """

    name: str
    use: Use
    found: Compared | None = None
    service: Service | None = None
    price: PricePerHour | None = None
    hosted: HostedPrice | None = None
    gpu: str = ""
    scale: float = 1.0

    @property
    def rate(self) -> Estimate | None:
        """Return the output rate at the load asked for [tok/s]; None of a hosted API."""
        return (self.found.figures or {}).get("output_tps_total") if self.found else None

    @property
    def gpus(self) -> int:
        """Return the GPUs of the deployment, 0 of a hosted API."""
        return self.found.gpus if self.found else 0

    @property
    def priced(self) -> bool:
        """Return whether it is known what it costs."""
        return self.price is not None or self.hosted is not None

    @property
    def usd_per_gpu_hour(self) -> float:
        """Return the price of a GPU, 1 where none is known: costs are then GPU-hours."""
        return self.price.usd_per_gpu_hour if self.price else 1.0

    @property
    def paid_when_used(self) -> bool:
        """Return whether idle time costs nothing."""
        return self.hosted is not None or (self.price is not None and self.price.kind in PAID_WHEN_USED)

    # -- costs -----------------------------------------------------------------------------------------------

    def usd_per_million(self, load: Load, output_tps: float | None = None) -> float:
        """Return what a million output tokens cost with everything charged to them, idle time included.

        Parameters
        ----------
        load : Load
            The lengths, for a hosted API.
        output_tps : float, optional
            Rate of the deployment; that at the load asked for by default [tok/s].
        """
        if self.hosted is not None:
            return self.hosted.usd_per_million_output_all(
                isl=load.isl, osl=load.osl, prefix_hit=load.prefix_hit
            )
        served = self.use.availability * (1.0 if self.paid_when_used else self.use.utilisation)
        return self._at_full_use(output_tps) / served

    def _at_full_use(self, output_tps: float | None = None) -> float:
        rate = self.rate
        if output_tps is None:
            assert rate is not None
            output_tps = rate.value
        return usd_per_million_tokens(
            output_tokens_per_s=output_tps, gpus=self.gpus, usd_per_gpu_hour=self.usd_per_gpu_hour
        )

    def by_token(self, load: Load) -> PaidFor:
        """Return costs of a million output tokens: fixed ones at full use of the paid time, and others."""
        if self.hosted is not None:
            return PaidFor(self.name, 0.0, self.usd_per_million(load))
        full = self._at_full_use() / self.use.availability
        return PaidFor(self.name, 0.0, full) if self.paid_when_used else PaidFor(self.name, full)

    def by_month(self, load: Load, scale: float = 1.0) -> tuple[PaidFor, float]:
        """Return costs of a month, and what one deployment carries in it [output tokens].

        Parameters
        ----------
        load : Load
            The lengths.
        scale : float
            Rate over what is expected of it.
        """
        import math

        if self.hosted is not None:
            return PaidFor(self.name, 0.0, self.usd_per_million(load)), math.inf
        rate = self.rate
        assert rate is not None
        if self.paid_when_used:
            return PaidFor(self.name, 0.0, self.usd_per_million(load, rate.value * scale)), math.inf
        month = usd_per_month(gpus=self.gpus, usd_per_gpu_hour=self.usd_per_gpu_hour)
        carried = output_tokens_per_month(output_tps_total=rate.value * scale, use=self.use)
        return PaidFor(self.name, month), carried

    # -- other loads -----------------------------------------------------------------------------------------

    def rates(self, loads: Sequence[Load]) -> NDArray[np.float64]:
        """Return the output rate at other loads, after the model and scaled to what was measured [tok/s]."""
        import numpy as np

        if self.service is None:
            raise InvalidInput(f"{self.name}: a hosted API has no rate of its own")
        ladder = 2.0 ** (np.arange(LOADS) / 2)
        isl, osl = (np.array([getattr(load, name) for load in loads]) for name in ("isl", "osl"))
        if loads[0].concurrency is not None:
            many = np.array([load.concurrency for load in loads])
            found = self.service.at(isl, osl, many, loads[0].prefix_hit).output_tps
        else:
            shape = (len(loads), LOADS)
            grid = [np.broadcast_to(part, shape) for part in (isl[:, None], osl[:, None], ladder)]
            every = self.service.at(grid[0].ravel(), grid[1].ravel(), grid[2].ravel(), loads[0].prefix_hit)
            found = every.output_tps.reshape(shape).max(1)
        return np.asarray(self.scale * found)

    def anchored(self, load: Load) -> Side:
        """Return the same with the model scaled to the rate at the load asked for."""
        rate = self.rate
        if self.service is None or rate is None:
            return self
        return replace(self, scale=rate.value / float(replace(self, scale=1.0).rates([load])[0]))

    def usd_per_million_at(self, loads: Sequence[Load]) -> list[float]:
        """Return what a million output tokens cost at other loads."""
        if self.hosted is not None:
            return [self.usd_per_million(load) for load in loads]
        rates = self.rates(loads)
        return [self.usd_per_million(load, float(rate)) for load, rate in zip(loads, rates, strict=True)]
