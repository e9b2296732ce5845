"""The library's front door: open the catalogue, ask whether a model fits, validate against measurements."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.catalogue import Catalogue, Gpu, Model, load_catalogue
from planner.catalogue.imported import ModelChoice, model_from
from planner.economics import PricePerHour, catalogue_price, given_price
from planner.errors import InvalidInput, Unsupported, unknown_name
from planner.planning.other_layouts import layout_cautions, other_layouts
from planner.planning.sizing import Judgement, Sizes, judge, layouts
from planner.report.fit import FitAnswer, FitReport
from planner.report.sentences import layout
from planner.report.weight_format import weight_format
from planner.scenario import Deployment, Workload
from planner.units import parse_count

if TYPE_CHECKING:
    from planner.measurement.validate_file import AnyValidation
    from planner.memory import MemoryFit

__all__ = ["fit", "load_catalogue", "validate"]

MOST_GPU_TYPES = 100


def fit(
    *,
    model: str | Model,
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
    model : str or Model
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

    book = _catalogue(catalogue)
    chosen = model_from(model, book) if isinstance(model, str) else ModelChoice(model)
    types = _gpu_records(gpu, book)
    further = _further(options)
    if pp is None and further.get("pipeline_layers") is not None:
        pp = len(further["pipeline_layers"])
    sizes = Sizes(gpus=gpus, tp=tp, pp=pp, ep=ep, dp=dp, dcp=dcp)
    base = Deployment(
        pp=sizes.pp or 1,
        weight_dtype=weight_dtype if weight_dtype is not None else chosen.quantisation,
        kv_dtype=kv_dtype,
        engine=engine,
        memory_fraction=memory_fraction,
        max_num_batched_tokens=_count("max_num_batched_tokens", max_num_batched_tokens),
        max_num_seqs=_count("max_num_seqs", max_num_seqs),
        speculative_tokens=speculative_tokens,
        text_only=text_only,
        **further,
    )
    workload = Workload(
        context=_count("context", context),
        concurrency=_count("concurrency", concurrency),
        isl=_count("isl", isl),
        osl=_count("osl", osl),
    )
    prices, unpriced = _prices(types, price, price_kind, book)
    found = {
        record.id: judge(
            model=chosen.model, gpu=record, base=base, sizes=sizes, workload=workload, catalogue=book
        )
        for record in types
    }
    measured = measured_outputs(
        model=chosen.model,
        gpus={record.id: (record, found[record.id].memory.deployment.gpus) for record in types},
        catalogue=book,
        load=Load(workload.isl, workload.osl, workload.concurrency, base.weight_dtype),
    )
    weights = weight_format(
        chosen.model, base.weight_dtype, None if weight_dtype or not chosen.quantisation else str(model)
    )
    kind = attention_kind(chosen.model)
    others: tuple[MemoryFit, ...] = ()
    if len(types) == 1:
        others = other_layouts(
            found[types[0].id].memory, model=chosen.model, gpu=types[0], workload=workload, catalogue=book
        )
    answers = [
        FitAnswer(
            model=chosen.model.id,
            model_name=chosen.model.name,
            config_status=chosen.model.config_status,
            gpu=record.id,
            gpu_name=record.name,
            node_gpus=record.node_gpus,
            sized=sizes.given,
            memory=found[record.id].memory,
            one_node=found[record.id].one_node,
            smallest=found[record.id].smallest,
            catalogue_digest=book.digest,
            usable_known=record.usable.confidence,
            weight_format=weights.text,
            variant=weights.variant,
            price=prices.get(record.id),
            no_price=unpriced.get(record.id),
            measured=measured.get(record.id),
            accuracy=memory_accuracy(base.engine.partition("==")[0].strip(), kind),
            others=others,
            notes=(*_notes(chosen.model), *_layout_notes(found[record.id], record, sizes)),
        )
        for record in types
    ]
    return FitReport(tuple(answers))


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

    return validate_file(path, _catalogue(catalogue))


def _catalogue(given: Catalogue | str | os.PathLike[str] | None) -> Catalogue:
    return given if isinstance(given, Catalogue) else load_catalogue(given)


def _count(name: str, value: int | str | None) -> int | None:
    """Return a count that may be written as on the command line."""
    if not isinstance(value, str):
        return value
    try:
        return parse_count(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def _gpu_records(gpu: str | Gpu | Iterable[str | Gpu], catalogue: Catalogue) -> list[Gpu]:
    if not isinstance(gpu, str | Gpu | Iterable):
        raise InvalidInput(f"gpu: {gpu!r} is neither a name nor a record, nor several of them")
    named: list[str | Gpu] = [gpu] if isinstance(gpu, str | Gpu) else list(gpu)
    records: dict[str, Gpu] = {}
    for item in named:
        for one in [part.strip() for part in item.split(",")] if isinstance(item, str) else [item]:
            if one == "":
                raise InvalidInput("gpu: an empty name; write it like mi355x or mi355x,b200,b300")
            record = catalogue.gpu(one) if isinstance(one, str) else one
            records[record.id] = record
    if not 0 < len(records) <= MOST_GPU_TYPES:
        raise InvalidInput(f"gpu: {len(records)} types named; 1 to {MOST_GPU_TYPES} are possible")
    return list(records.values())


def _further(options: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = [name for name in options if name not in Deployment.model_fields]
    if unknown:
        raise unknown_name("argument", unknown[0], Deployment.model_fields)
    return options


def _prices(
    types: list[Gpu], price: float | Mapping[str, float] | None, kind: str | None, catalogue: Catalogue
) -> tuple[dict[str, PricePerHour], dict[str, str]]:
    """Return a price for each accelerator that has one, given ones first, and why others have none."""
    if isinstance(price, Mapping):
        given = {catalogue.gpu(name).id: given_price(usd) for name, usd in price.items()}
        others = sorted(set(given) - {record.id for record in types})
        if others:
            raise InvalidInput(f"price: {', '.join(others)} is priced, but not among the GPUs asked about")
    elif price is not None:
        given = {record.id: given_price(price) for record in types}
    else:
        given = {}
    if kind is None:
        return given, {}
    catalogue.prices(kind=kind)  # refuses a kind that does not exist
    missing: dict[str, str] = {}
    for record in types:
        if record.id in given:
            continue
        try:
            given[record.id] = catalogue_price(gpu=record.id, kind=kind, quotes=catalogue.prices(record.id))
        except Unsupported as error:
            missing[record.id] = str(error)
    return given, missing


def _notes(model: Model) -> tuple[str, ...]:
    if model.config_status == "published":
        return ()
    because = f": {model.config_note}" if model.config_note else ""
    return (f"the configuration of {model.name} is {model.config_status}{because}",)


def _layout_notes(judged: Judgement, gpu: Gpu, sizes: Sizes) -> tuple[str, ...]:
    """Return which layout was chosen where the sizes leave a choice, and what it costs in latency."""
    deployment = judged.memory.deployment
    said = []
    if sizes.gpus is not None and len(layouts(sizes, gpu, deployment)) > 1:
        usual = layouts(sizes, gpu, deployment)[0]
        if (usual.tp, usual.pp) != (deployment.tp, deployment.pp):
            said.append(
                f"of {deployment.gpus} GPUs {layout(usual)} is usual, but does not do; {layout(deployment)} "
                "is the first layout that does. Name --tp or --pp to have another one judged"
            )
    return (*said, *layout_cautions(deployment, gpu.node_gpus))
