"""What the front door answers for media models: fit, predict, compare, plan and breakeven of a unit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from planner.api.arguments import answered, one_of
from planner.catalogue import Catalogue, Gpu
from planner.catalogue.media import MediaModel, media_host, media_model, media_stack
from planner.economics import OWNING_ARGUMENTS, PricePerHour, check_kinds, terms_given
from planner.errors import DoesNotFit, InvalidInput, shorten
from planner.measurement.media import published_run
from planner.measurement.operating_point import CHOICES
from planner.memory.media import media_memory
from planner.performance.media import media_time
from planner.planning.media import MediaDemand, media_flip, media_plan
from planner.planning.question import gpu_records, prices_of
from planner.report.base import Report
from planner.report.media import MediaAnswer, MediaReport
from planner.report.media_plans import MediaBreakEvenReport, MediaPlanReport
from planner.scenario import Deployment
from planner.scenario.media import MediaWorkload, media_workload, plural
from planner.scenario.media_options import MEDIA_OPTIONS

ENGINE = "comfyui"
SHARED = (
    "model",
    "gpu",
    "gpus",
    "engine",
    "weight_dtype",
    "price",
    "price_kind",
    "throughput",
    "mixed_kinds",
)
"""Arguments that media models share with language models."""

ANSWERED = {
    "fit": (),
    "predict": (),
    "compare": (),
    "breakeven": ("over",),
    "plan": ("request_rate", "peak_factor", "peak_utilisation", "spare", "part_nodes", "slo_e2e_s"),
}
"""Functions that answer for media models, and what each takes beside."""

YES_OR_NO = ("offload", "mixed_kinds", "part_nodes")

UNHEARD = ("catalogue", "progress")
"""Arguments that say nothing about the question."""


def answer_media(
    function: str, kwargs: Mapping[str, Any], signature: inspect.Signature, book: Catalogue
) -> Report:
    """Return the answer of a function of the front door for a media model.

    Parameters
    ----------
    function : str
        Its name, one of `ANSWERED`.
    kwargs : mapping
        What it was given, by name.
    signature : Signature
        Its arguments with their defaults.
    book : Catalogue
        Where all of it is looked up.

    Returns
    -------
    Report

    Raises
    ------
    PlannerError
        For arguments that have no meaning here, and for sizes that are not possible.
    """
    model = kwargs["model"]
    found = model if isinstance(model, MediaModel) else media_model(book, str(model))
    given = _heard(function, found, kwargs, signature)
    given.setdefault("gpu", signature.parameters["gpu"].default)
    return _answer(function, found, given, book)


def _heard(
    function: str, model: MediaModel, kwargs: Mapping[str, Any], signature: inspect.Signature
) -> dict[str, Any]:
    """Return what was given and has a meaning, or refuse what has none."""
    takes = (*SHARED, *MEDIA_OPTIONS, *ANSWERED[function], *OWNING_ARGUMENTS)
    heard: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in UNHEARD or value is None or _unsaid(name, value, signature):
            continue
        if name not in takes:
            raise InvalidInput(
                f"{name}: {model.id} makes {plural(model.makes)} and has no {name}; its load is "
                f"{', '.join(MEDIA_OPTIONS[:6])}"
            )
        if name in YES_OR_NO and not isinstance(value, bool):
            raise InvalidInput(f"{name}: {shorten(value)} is neither True nor False")
        heard[name] = value
    return heard


def _unsaid(name: str, value: Any, signature: inspect.Signature) -> bool:
    """Return whether a value is the default that nobody gave."""
    parameter = signature.parameters.get(name)
    default = None if parameter is None else parameter.default
    if parameter is None and name in Deployment.model_fields:
        default = Deployment.model_fields[name].default
    if name == "gpu":
        return False
    same = type(value) is type(default) and value == default
    return bool(same) or (parameter is None and value is False)


def _answer(function: str, model: MediaModel, given: dict[str, Any], book: Catalogue) -> Report:
    _check_engine(given.pop("engine", ENGINE))
    if given.pop("gpus", 1) not in (1, "1"):
        raise InvalidInput(
            f"gpus: a unit of {model.id} is made on one GPU; `planner plan` counts the GPUs of a traffic"
        )
    if function == "plan":
        return _plan(model, given, book)
    if function == "breakeven":
        return _breakeven(model, given, book)
    report = _report(function, model, given, book)
    if function == "compare":
        warning = check_kinds(
            {one.gpu: one.price.kind for one in report.answers if one.price}, bool(given.get("mixed_kinds"))
        )
        notes = (warning,) if warning else ()
        return MediaReport(report.answers, asked=function, left_out=report.left_out, notes=notes)
    return report


def _check_engine(engine: object) -> None:
    named = str(engine).partition("==")[0].strip().lower()
    if named not in (ENGINE, "vllm"):
        raise InvalidInput(f"engine: media models run on {ENGINE} here, not on {shorten(engine)}")


def _report(function: str, model: MediaModel, given: Mapping[str, Any], book: Catalogue) -> MediaReport:
    """Return the answers on all accelerators."""
    throughput = one_of("throughput", given.get("throughput", "auto"), CHOICES)
    workload = media_workload(model, dict(given))
    cards = gpu_records(given["gpu"], book)
    kind = given.get("price_kind")
    prices, unpriced = prices_of(cards, given.get("price"), kind, book, terms_given(given))

    def answer(card: Gpu) -> MediaAnswer:
        return _on(model, workload, card, book, throughput, prices.get(card.id), unpriced.get(card.id))

    found, left_out = answered(cards, answer)
    answers = tuple(found.values())
    if throughput == "measured" and not any(one.run for one in answers):
        raise InvalidInput(
            f"throughput: nobody published a time of {model.id}, {workload.text}, on "
            f"{', '.join(one.gpu for one in answers)}; --throughput auto predicts it"
        )
    return MediaReport(answers, asked=function, left_out=left_out)


def _on(
    model: MediaModel,
    workload: MediaWorkload,
    card: Gpu,
    book: Catalogue,
    throughput: str,
    price: PricePerHour | None,
    no_price: str | None,
) -> MediaAnswer:
    stack, host = media_stack(book, card.vendor), media_host(book)
    memory = media_memory(model, workload, card, stack)
    time = media_time(model, workload, card, stack, memory, host) if memory.fits else None
    run = None if throughput == "simulated" else published_run(book, model, workload, card.id)
    shown = None if throughput == "measured" else time
    return MediaAnswer(
        model, card, stack, host, workload, memory, time if run else shown, run, price, no_price
    )


def _plan(model: MediaModel, given: dict[str, Any], book: Catalogue) -> MediaPlanReport:
    if given.get("request_rate") is None:
        raise InvalidInput(
            f"request_rate: {plural(model.makes)} that are asked for in a second are needed, --rate"
        )
    report = _report("predict", model, given, book)
    demand = MediaDemand(**{name: given[name] for name in MediaDemand.model_fields if name in given})
    limit = demand.slo_e2e_s
    plans = {
        one.gpu: media_plan(demand, seconds=one.seconds, node_gpus=one.card.node_gpus)
        for one in report.answers
        if one.seconds is not None and (limit is None or one.seconds <= limit)
    }
    return MediaPlanReport(report.answers, plans, limit, report.left_out)


def _breakeven(model: MediaModel, given: dict[str, Any], book: Catalogue) -> MediaBreakEvenReport:
    if given.get("over", "price") != "price":
        raise InvalidInput(f"over: of a media model the price alone is varied, not {shorten(given['over'])}")
    report = _report("predict", model, given, book)
    if len(report.answers) != 2:
        raise InvalidInput(f"gpu: two accelerators are held against one another, not {len(report.answers)}")
    first, second = report.answers
    for one in (first, second):
        if one.interval_s is None:
            raise InvalidInput(one.sentence) if one.fits else DoesNotFit(one.sentence)
    assert first.interval_s is not None
    assert second.interval_s is not None
    check_kinds(
        {one.gpu: one.price.kind for one in (first, second) if one.price}, bool(given.get("mixed_kinds"))
    )
    usd = [None if one.price is None else one.price.usd_per_used_hour for one in (first, second)]
    return MediaBreakEvenReport(
        (first, second), media_flip(first.interval_s, second.interval_s, usd[0], usd[1])
    )
