"""The library's front door: open the catalogue, ask whether a model fits, validate against measurements."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.catalogue import Catalogue, Gpu, Model, load_catalogue
from planner.errors import InvalidInput, shorten, unknown_name
from planner.planning.other_layouts import other_layouts
from planner.planning.question import question
from planner.planning.sizing import judge
from planner.report.answers import fit_answer
from planner.report.fit import FitReport

if TYPE_CHECKING:
    from planner.measurement.validate_file import AnyValidation
    from planner.memory import MemoryFit
    from planner.performance.simulation import Trace
    from planner.report.prediction import PredictReport
    from planner.report.simulation import SimulateReport

__all__ = ["fit", "load_catalogue", "predict", "simulate", "validate"]


def fit(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    gpus: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    dp: int | None = None,
    dcp: int | None = None,
    weight_dtype: str | None = None,
    kv_dtype: str = "auto",
    engine: str = "vllm",
    context: int | str | None = None,
    concurrency: int | str | None = None,
    isl: int | str | None = None,
    osl: int | str | None = None,
    memory_fraction: float | None = None,
    max_num_batched_tokens: int | str | None = None,
    max_num_seqs: int | str | None = None,
    speculative_tokens: int = 0,
    text_only: bool = False,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> FitReport:
    """Say whether a model fits on one or several accelerator types, on how many, and what limits it.

    Parameters
    ----------
    model : str, path or Model
        Id or alias of the catalogue, path of a `config.json` or its directory, a hub id, or a record.
    gpu : str, Gpu, or several
        Ids or aliases (several with commas or as a list), or records.
    gpus, tp, pp, ep, dp, dcp : int, optional
        GPUs of the deployment and its parallel sizes. Without any of them the smallest deployment that fits
        is looked for. Parallel sizes are judged as they are given, and those left out are 1. `gpus` without
        `tp` or `pp` leaves the layout open: tensor parallelism as wide as a node first, then pipeline
        stages; the first layout that fits is taken.
    weight_dtype : str, optional
        Quantisation of the weights; the checkpoint's own by default.
    kv_dtype : str
        Dtype of the KV cache; "auto" is what the engine picks.
    engine : str
        Engine, with a version (``vllm==0.20.2``) or without.
    context : int or str, optional
        Longest request [tokens]; input and output together where they are given, else the model's maximum.
        It may be written as on the command line, "128k" (x 1,000) or "128Ki" (x 1,024), as may every other
        count of tokens or requests.
    concurrency : int or str, optional
        Requests that must run at once.
    isl, osl : int or str, optional
        Input and output of a request [tokens].
    memory_fraction, max_num_batched_tokens, max_num_seqs, speculative_tokens, text_only
        As `planner.scenario.Deployment` explains them.
    price : float or mapping, optional
        Price of one GPU [USD/h], for all types or by id or alias.
    price_kind : str, optional
        Take prices of this kind from the catalogue where none is given.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.
    **options
        Further fields of `planner.scenario.Deployment`, such as `block_size` or `draft_model`.

    Returns
    -------
    FitReport
        One answer for each accelerator type.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.measurement.accuracy import memory_accuracy
    from planner.measurement.attention import attention_kind
    from planner.measurement.measured_output import Load, measured_outputs

    asked = question(
        model=model,
        gpu=gpu,
        load={"context": context, "concurrency": concurrency, "isl": isl, "osl": osl},
        options={
            "gpus": gpus,
            "tp": tp,
            "pp": pp,
            "ep": ep,
            "dp": dp,
            "dcp": dcp,
            "weight_dtype": weight_dtype,
            "kv_dtype": kv_dtype,
            "engine": engine,
            "memory_fraction": memory_fraction,
            "max_num_batched_tokens": max_num_batched_tokens,
            "max_num_seqs": max_num_seqs,
            "speculative_tokens": speculative_tokens,
            "text_only": text_only,
            **options,
        },
        catalogue=_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    book, base, workload = asked.catalogue, asked.base, asked.workload
    found = {
        card.id: judge(
            model=asked.model, gpu=card, base=base, sizes=asked.sizes, workload=workload, catalogue=book
        )
        for card in asked.gpus
    }
    measured = measured_outputs(
        model=asked.model,
        gpus={card.id: (card, found[card.id].memory.deployment.gpus) for card in asked.gpus},
        catalogue=book,
        load=Load(workload.isl, workload.osl, workload.concurrency, base.weight_dtype),
    )
    kind = attention_kind(asked.model)
    others: tuple[MemoryFit, ...] = ()
    if len(asked.gpus) == 1:
        card = asked.gpus[0]
        others = other_layouts(
            found[card.id].memory, model=asked.model, gpu=card, workload=workload, catalogue=book
        )
    answers = [
        replace(
            fit_answer(asked, card, found[card.id]),
            measured=measured.get(card.id),
            accuracy=memory_accuracy(base.engine.partition("==")[0].strip(), kind),
            others=others,
        )
        for card in asked.gpus
    ]
    return FitReport(tuple(answers))


def predict(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    isl: int | str | None = None,
    osl: int | str | None = None,
    concurrency: int | str | None = None,
    request_rate: float | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    throughput: str = "auto",
    draft: str | None = None,
    tokens_per_step: float | None = None,
    disaggregated: tuple[int, int] | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> PredictReport:
    """Say what throughput, TTFT and TPOT to expect of a model under a load, how sure that is, and its cost.

    Parameters
    ----------
    model, gpu, context, price, price_kind, catalogue
        As for `fit`.
    isl, osl : int or str
        Input and output of a request [tokens].
    concurrency : int or str, optional
        Requests at once; one where neither this nor a rate is given.
    request_rate : float, optional
        Requests that arrive in a second, instead of a concurrency [1/s].
    prefix_hit : float
        Share of the input that a prefix cache holds, from 0 to below 1.
    throughput : str
        ``auto`` takes what was measured at the operating point where it was, and the model for the rest;
        ``measured`` and ``simulated`` take the one or the other alone.
    draft : str, optional
        Kind of draft (``mtp``, ``eagle3``, ``dspark``) where `speculative_tokens` is above 0.
    tokens_per_step : float, optional
        Tokens that a step of speculation yields, where it is known.
    disaggregated : tuple of int, optional
        GPUs that only prefill and GPUs that decode; the sizes are then those of one copy in either pool.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.
    **options
        Sizes (`gpus`, `tp`, `pp`, `ep`, `dp`, `dcp`), and fields of `planner.scenario.Deployment` such as
        `weight_dtype`, `engine` or `speculative_tokens`. Without sizes it is the smallest deployment that
        holds the load.

    Returns
    -------
    PredictReport
        One answer for each accelerator type. Where the model does not fit, or the load cannot be carried, it
        says so and has no figures.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.measurement.operating_point import CHOICES
    from planner.measurement.predicted import Pools, Speculation, predicted
    from planner.planning.load import full_load, load_of
    from planner.report.prediction import PredictAnswer, PredictReport

    if throughput not in CHOICES:
        raise unknown_name("throughput", throughput, CHOICES)
    load = {
        "isl": isl,
        "osl": osl,
        "concurrency": concurrency,
        "request_rate": request_rate,
        "context": context,
        "prefix_hit": prefix_hit,
    }
    asked = question(
        model=model,
        gpu=gpu,
        load=load,
        options=options,
        catalogue=_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    shown = load_of(full_load(asked.workload)[0])
    answers = []
    for card in asked.gpus:
        found = predicted(
            asked,
            card,
            throughput=throughput,
            speculation=Speculation(draft, tokens_per_step),
            pools=Pools(*disaggregated) if disaggregated else None,
            network_bytes_per_s=network_bytes_per_s,
        )
        answers.append(PredictAnswer(fit_answer(asked, card, found.judgement), found, shown))
    return PredictReport(tuple(answers))


def simulate(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu,
    isl: int | str | None = None,
    osl: int | str | None = None,
    concurrency: int | str | None = None,
    request_rate: float | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    arrivals: str = "poisson",
    cv: float | None = None,
    lengths: str = "fixed",
    length_cv: float = 0.5,
    trace: str | os.PathLike[str] | Trace | None = None,
    requests: int | None = None,
    seed: int = 0,
    slo_ttft_s: float | None = None,
    slo_tpot_s: float | None = None,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> SimulateReport:
    """Serve requests one by one: percentiles of TTFT, TPOT and whole requests, goodput and overload.

    Parameters
    ----------
    model, gpu, isl, osl, context, prefix_hit, draft, tokens_per_step, network_bytes_per_s
        As for `predict`; one accelerator.
    concurrency : int or str, optional
        Users of whom each asks again when answered.
    request_rate : float, optional
        Requests that arrive in a second, instead of a concurrency [1/s].
    arrivals, cv
        How they arrive: ``poisson``, ``gamma`` with the spread `cv` of the gaps, or ``fixed``.
    lengths, length_cv
        How lengths are drawn: ``fixed``, ``uniform`` (80 to 100 %) or ``lognormal`` with a spread.
    trace : path or Trace, optional
        Recorded requests, replayed; with a rate or a concurrency only their lengths are drawn.
    requests : int, optional
        How many.
    seed : int
        Of the random numbers.
    slo_ttft_s, slo_tpot_s : float, optional
        Limits that a request must keep to count for goodput [s].
    progress : callable, optional
        Called with the requests that have finished, and all of them.
    price, price_kind, catalogue, **options
        As for `predict`.

    Returns
    -------
    SimulateReport

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.measurement.traces import read_trace
    from planner.performance.simulation import LatencySlo, Trace
    from planner.planning.service_simulation import SimulatedLoad, simulated_service
    from planner.report.simulation import SimulateReport

    load = {
        "isl": isl,
        "osl": osl,
        "concurrency": concurrency,
        "request_rate": request_rate,
        "context": context,
        "prefix_hit": prefix_hit,
    }
    asked = question(
        model=model,
        gpu=gpu,
        load=load,
        options=options,
        catalogue=_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    if len(asked.gpus) > 1:
        raise InvalidInput(f"gpu: {len(asked.gpus)} types named; a simulation is of one")
    limited = slo_ttft_s is not None or slo_tpot_s is not None
    found = simulated_service(
        asked,
        asked.gpus[0],
        SimulatedLoad(
            arrivals=arrivals,
            cv=cv,
            lengths=lengths,
            length_cv=length_cv,
            trace=trace if trace is None or isinstance(trace, Trace) else read_trace(trace),
            requests=requests,
            seed=seed,
            slo=LatencySlo(ttft_s=slo_ttft_s, tpot_s=slo_tpot_s) if limited else None,
        ),
        draft=draft,
        tokens_per_step=tokens_per_step,
        network_bytes_per_s=network_bytes_per_s,
        progress=progress,
    )
    return SimulateReport(fit_answer(asked, asked.gpus[0], found.judgement), found)


def validate(
    path: str | os.PathLike[str], catalogue: Catalogue | str | os.PathLike[str] | None = None
) -> AnyValidation:
    """Predict every row of a file of measurements and say how wrong the predictions are.

    Parameters
    ----------
    path : path
        A CSV of start-up logs or of serving points.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.

    Returns
    -------
    ValidationResult or ServingValidation

    Raises
    ------
    PlannerError
        With file and line, when the file is not such a table.
    """
    from planner.measurement.validate_file import validate_file

    return validate_file(_path("path", path), _catalogue(catalogue))


def _catalogue(given: Catalogue | str | os.PathLike[str] | None) -> Catalogue:
    if isinstance(given, Catalogue):
        return given
    return load_catalogue(None if given is None else _path("catalogue", given))


def _path(name: str, given: object) -> str:
    """Return a path as text, or refuse what is none."""
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise InvalidInput(f"{name}: {shorten(given)} is no path of a file")
    return path
