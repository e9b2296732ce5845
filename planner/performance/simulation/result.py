"""What a simulation says: throughput, percentiles, goodput, and whether the load can be carried at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.performance.simulation.overload import Flow
from planner.performance.simulation.requests import Requests
from planner.performance.simulation.summary import Summary
from planner.performance.simulation.window import Window
from planner.scenario.slo import LatencySlo

if TYPE_CHECKING:
    import pandas

SCHEMA = "planner.simulate/1"


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """The outcome of one simulation.

    Parameters
    ----------
    requests : Requests
        What became of each request.
    window : Window
        The part that counts; every figure below is of it.
    flow : Flow
        Requests in and out.
    ttft_s, e2e_s, queue_s : Summary or None
        Latencies [s]; None under overload, where they grow for as long as one looks.
    tpot_s, itl_s : Summary or None
        Mean time of an output token by request, and the single gaps between outputs [s]; None where no
        request has a second token.
    output_tps, total_tps : float
        Tokens generated, and generated and read [tok/s].
    mean_batch : float
        Requests that decode, on average over time.
    kv_utilisation, kv_utilisation_peak : float
        Share of the pool that is taken, on average and at most.
    preemptions, recomputed_tokens : int
        Times that a request lost its place, and tokens in the cache that were lost by it; warm-up and drain
        included.
    slo : LatencySlo or None
        What was asked.
    goodput_per_s : float or None
        Requests that kept the SLO [requests/s]; None without one and under overload.
    slo_share : float or None
        Share of the requests that kept it.
    seed : int
        Of the random streams.
    """

    requests: Requests
    window: Window
    flow: Flow
    ttft_s: Summary | None
    tpot_s: Summary | None
    itl_s: Summary | None
    e2e_s: Summary | None
    queue_s: Summary | None
    output_tps: float
    total_tps: float
    mean_batch: float
    kv_utilisation: float
    kv_utilisation_peak: float
    preemptions: int
    recomputed_tokens: int
    slo: LatencySlo | None
    goodput_per_s: float | None
    slo_share: float | None
    seed: int

    @property
    def overloaded(self) -> bool:
        """Return whether more came than could be served."""
        return self.flow.overloaded

    @property
    def meets_slo(self) -> bool | None:
        """Return whether the asked share kept the SLO; None without one."""
        if self.slo is None:
            return None
        return self.slo_share is not None and self.slo_share >= self.slo.share

    @property
    def verdict(self) -> str:
        """Return one sentence that says whether the load can be carried."""
        flow = self.flow
        if flow.overloaded:
            return (
                f"overloaded: {flow.offered_per_s:.3g} requests/s offered, {flow.sustained_per_s:.3g} "
                f"sustained; the queue grows by {flow.queue_growth_per_s:.3g} requests/s, so TTFT and E2E "
                "have no steady value"
            )
        return f"carried: {flow.sustained_per_s:.3g} requests/s"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as one JSON-ready object of schema `planner.simulate/1`, units in the names."""
        window, flow = self.window, self.flow
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "overloaded": flow.overloaded,
            "requests": len(self.requests.isl),
            "measured_requests": int(self.requests.measured.sum()),
            "seed": self.seed,
            "window": {
                "measure": window.measure,
                "warmup_requests": window.warmup_requests,
                "begin_s": window.begin_s,
                "end_s": window.end_s,
            },
            "offered_requests_per_s": flow.offered_per_s,
            "sustained_requests_per_s": flow.sustained_per_s,
            "queue_growth_requests_per_s": flow.queue_growth_per_s,
            "waiting_at_end": flow.waiting_at_end,
            "output_tps_total": self.output_tps,
            "total_tps_total": self.total_tps,
            "ttft_ms": _scaled(self.ttft_s, 1e3),
            "tpot_ms": _scaled(self.tpot_s, 1e3),
            "itl_ms": _scaled(self.itl_s, 1e3),
            "e2e_s": _scaled(self.e2e_s, 1.0),
            "queue_ms": _scaled(self.queue_s, 1e3),
            "mean_batch": self.mean_batch,
            "kv_utilisation": self.kv_utilisation,
            "kv_utilisation_peak": self.kv_utilisation_peak,
            "preemptions": self.preemptions,
            "recomputed_tokens": self.recomputed_tokens,
            "slo": self.slo.model_dump() if self.slo else None,
            "goodput_requests_per_s": self.goodput_per_s,
            "slo_share": self.slo_share,
            "meets_slo": self.meets_slo,
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each request."""
        import pandas

        return pandas.DataFrame(self.requests.columns())


def _scaled(summary: Summary | None, scale: float) -> dict[str, float] | None:
    return None if summary is None else summary.to_dict(scale)
