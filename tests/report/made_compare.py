"""Comparisons and break-evens made by hand, so that tests of reports do not move with the time model."""

from __future__ import annotations

from dataclasses import replace

from planner.catalogue import Catalogue
from planner.economics import PricePerHour, Use
from planner.measurement.breaking_even import Decided, decide
from planner.measurement.compared import ANSWERED, MISSES, NO_FIT, Compared
from planner.measurement.sides import Load, Side
from planner.performance.intervals import Estimate
from planner.planning.compare_kinds import rank_by_kind
from planner.planning.load import Load as Asked
from planner.planning.sensitivity import Swing, by_swing
from planner.report.breakeven import BreakEvenReport
from planner.report.breakeven_notes import breakeven_notes
from planner.report.compare import CompareAnswer, CompareReport, in_order
from planner.report.compare_notes import compare_notes
from tests.report.made import answer as fit_answer
from tests.report.made import judged
from tests.report.made_prediction import FIGURES, SAID, estimate, measured, prediction

USE = Use(utilisation=0.5, availability=0.8, provenance="made")


def compared(gpu: str, tps: float, *, seen: bool = False) -> Compared:
    """Return what an accelerator yields, measured or after the model."""
    made = prediction(gpu=gpu, tps=tps)
    simulated = {name: getattr(made, name) for name in FIGURES}
    run = measured(tps) if seen else None
    figures = dict(simulated)
    if run is not None:
        per_gpu = run.figures["output_tps_total"].scaled(1 / 8)
        run = replace(run, figures={**run.figures, "output_tps_per_gpu": per_gpu})
        figures.update(run.figures)
    return Compared(
        memory=fit_answer(gpu=gpu).memory,
        state=ANSWERED,
        chosen="the smallest that fits",
        gpus=8,
        concurrency=32.0,
        figures=figures,
        simulated=simulated,
        measured=run,
        engine="vllm 0.20" if seen else "vllm",
        prefill_share=0.25,
    )


def answer(
    gpu: str, tps: float, *, price: float | None = None, seen: bool = False, vendor: str = "NVIDIA"
) -> CompareAnswer:
    """Return an answer with figures."""
    fit = fit_answer(gpu=gpu, price=price)
    return CompareAnswer(fit, compared(gpu, tps, seen=seen), Asked(1024, 512, 32, None), USE, 2.0, vendor)


def refused(state: str = NO_FIT) -> CompareAnswer:
    """Return an answer without figures."""
    fit = judged(weights_gib=190.0)
    said = "closest is 8 GPUs (TP8) with 1 request at once: TTFT 3 s, where 2 s is the limit"
    found = Compared(fit.memory, state, said if state == MISSES else fit.memory.binding_limit, gpus=8)
    return CompareAnswer(fit, found, Asked(1024, 512, 32, None), USE, 2.0, "NVIDIA")


def report(*answers: CompareAnswer, catalogue: Catalogue | None = None) -> CompareReport:
    """Return the comparison of some answers, with the catalogue's quotes where one is given."""
    ordered, ranking, by_model = in_order(list(answers))
    quotes = {name: catalogue.prices(name) for name in ranking.names} if catalogue else {}
    kinds, lacking = rank_by_kind(ranking.options, quotes)
    return CompareReport(
        ordered,
        ranking=ranking,
        simulated_ranking=by_model,
        kinds=kinds,
        lacking=lacking,
        slo=None,
        throughput="auto",
        notes=compare_notes(ordered, ranking, by_model, kinds, lacking),
    )


def side(name: str, gpu: str, tps: float, price: float | None, kind: str = "given") -> Side:
    """Return an option that yields so much on 8 GPUs."""
    found = replace(compared(gpu, tps), figures={"output_tps_total": estimate(tps, 0.1)})
    paid = None if price is None else PricePerHour(price, kind, "given by you")
    return Side(name, USE, found, None, paid, gpu=gpu)


LOAD = Load(1024.0, 512.0, 32.0)


def breakeven(
    *, over: str = "price", first: Side | None = None, second: Side | None = None
) -> BreakEvenReport:
    """Return a break-even of two options, with a tornado in round numbers."""
    one = first or side("B300-SXM", "b300-sxm", 1568.0, 6.0)
    other = second or side("MI355X", "mi355x", 952.0, 2.5)
    decided: Decided = decide(one, other, LOAD, over)
    swings = (
        Swing("price of MI355X", "2.00 USD/h", "3.00 USD/h", 1.8, 1.2, "assumed: 20 % off"),
        Swing("price of B300-SXM", "2.00 USD/h", "6.00 USD/h", 0.5, 1.5, "3 quotes, on-demand"),
        Swing("utilisation", "40 %", "90 %", 1.457, 1.457, "cancels"),
    )
    return BreakEvenReport(
        about="Made 1T, 1,024 tokens in and 512 out, 32 requests at once",
        model="made-1t",
        over=over,
        sides=(one, other),
        decided=decided,
        swings=by_swing(swings),
        notes=breakeven_notes(decided),
        catalogue_digest="0123456789abcdef",
    )


def exact(value: float) -> Estimate:
    """Return a figure without a width."""
    return Estimate(value, value, value, SAID)
