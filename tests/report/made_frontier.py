"""Frontiers made by hand, so that tests of reports do not move with the time model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.catalogue import load_catalogue
from planner.measurement.frontier_points import MeasuredMarker
from planner.measurement.serving import load_serving, serving_directory
from planner.performance.predict import Prediction
from planner.planning.load import Load
from planner.planning.question import question
from planner.planning.search import Candidate, FailedLimit, LeftOut, Point, Refusal, SearchResult, SearchSpace
from planner.planning.search.evaluation import Found
from planner.report.frontier import FrontierAnswer, FrontierReport
from planner.scenario import Deployment
from planner.scenario.slo import LatencySlo
from tests.report.made import memory
from tests.report.made_prediction import SAID, estimate, prediction

ISL, OSL = 1024, 512
SLO = LatencySlo(ttft_s=2, tpot_s=0.05)
CATALOGUE = load_catalogue()


def point(
    *,
    users: float,
    each: float,
    requests: float,
    label: str = "TP8",
    gpus: int = 8,
    price: float | None = None,
) -> Point:
    """Return a point in round numbers."""
    deployment = Deployment(tp=8)
    total = estimate(each * gpus)
    tpot = estimate(1e3 / users)
    cost = None if price is None else total.inverse().scaled(price * gpus / 3600 * 1e6)
    return Point(
        candidate=Candidate(deployment, gpus // 8, None, 0, memory(), gpus, -(-gpus // 8), label),
        concurrency=requests,
        request_rate_per_s=total.value / OSL,
        output_tps_total=total,
        output_tps_per_gpu=estimate(each),
        total_tps_per_gpu=estimate(3 * each),
        tps_per_user=estimate(users),
        ttft_ms=estimate(250.0, 0.5),
        tpot_ms=tpot,
        e2e_s=0.25 + (OSL - 1) / users,
        prefill_share=0.2,
        usd_per_million_output_tokens=cost,
        source="simulated",
        provenance=f"{SAID}; nearest data: both",
    )


def result(gpu: str, price: float | None, candidates: int = 120) -> SearchResult:
    """Return a search whose figures are never asked for."""
    asked = question(
        model="kimi-k3",
        gpu=gpu,
        load={"isl": ISL, "osl": OSL},
        options={},
        catalogue=CATALOGUE,
        price=price,
    )
    count = np.zeros(2_000 if candidates else 0)
    refused = (
        Refusal("no room for a request", 36, "DP4: weights: 170 GiB a GPU, the engine may use 164 GiB"),
        Refusal("weights too large", 21, "TP1: weights alone are more than a GPU has"),
    )
    return SearchResult(
        asked=asked,
        gpu=asked.gpus[0],
        space=SearchSpace(),
        refused=refused,
        apart=True,
        evaluator=None,
        most=np.ones(candidates),
        tried=Found(count.astype(int), *[count] * 6),
        steady=count == 0,
        left_out=LeftOut(overloaded=12, unlikely=30) if candidates else LeftOut(),
    )


def working(bound: str) -> Prediction:
    """Return a prediction that is bound by something."""
    return replace(prediction(), bound_by=bound, warnings=("a made warning",))


def answer(
    *, gpu: str = "mi355x", scale: float = 1.0, price: float | None = None, slo: LatencySlo | None = None
) -> FrontierAnswer:
    """Return an answer with a frontier of fourteen points and two layouts."""
    points = tuple(
        point(users=128 / 1.3**i, each=scale * 10 * 1.25**i, requests=round(1.5**i), price=price)
        for i in range(14)
    )
    second = point(users=20, each=scale * 140, requests=90, label="2 x TP8 EP8", gpus=16, price=price)
    layouts = ((points[-1], working("prefill")), (second, working("links")))
    aim = "throughput" if price is None else "cost"
    return FrontierAnswer(
        result(gpu, price), Load(ISL, OSL, None, None), aim, slo, points, layouts, None, markers()
    )


def markers() -> tuple[MeasuredMarker, ...]:
    """Return a measured run of a shipped file."""
    row = load_serving(serving_directory() / "wafer_kimi_k3.csv")[0]
    return (MeasuredMarker(row, 119.0, 14.5, alike=True, best=True), MeasuredMarker(row, 60.0, 12.0))


def unmet(gpu: str = "b300") -> FrontierAnswer:
    """Return an answer where nothing keeps the limits."""
    nearest = point(users=12.5, each=20.0, requests=1)
    failed = (FailedLimit("tpot_s", 0.05, 0.08), FailedLimit("ttft_s", 2.0, 2.5))
    return replace(answer(gpu=gpu, slo=SLO), points=(), layouts=(), closest=(nearest, failed), measured=())


def refused(gpu: str = "b200") -> FrontierAnswer:
    """Return an answer where nothing runs."""
    return replace(unmet(gpu), result=result(gpu, None, candidates=0), closest=None)


def report(*answers: FrontierAnswer) -> FrontierReport:
    """Return a report of some answers."""
    return FrontierReport(answers)
