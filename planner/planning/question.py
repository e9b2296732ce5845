"""What a user asks of a model on accelerators, from names and options to records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Catalogue, Gpu, Model, PriceKind
from planner.catalogue.imported import ModelChoice, model_from
from planner.catalogue.labels import name_own
from planner.economics import (
    API,
    OWN,
    OWNING_ARGUMENTS,
    PURCHASE,
    PricePerHour,
    catalogue_price,
    given_price,
    terms_given,
)
from planner.errors import InvalidInput, PlannerError, UnknownName, Unsupported, shorten, unknown_name
from planner.memory.built import SameModel, architecture_of
from planner.planning.sizing import Sizes
from planner.scenario import Deployment, Workload
from planner.units import parse_count

MOST_GPU_TYPES = 100

COUNTS = ("context", "concurrency", "isl", "osl", "max_num_batched_tokens", "max_num_seqs")
"""What may be written as on the command line: "128k" or "128Ki"."""


@dataclass(frozen=True, slots=True)
class Question:
    """A model, accelerators, everything but the sizes of a deployment, and a load.

    Parameters
    ----------
    name : str
        What the user called the model.
    chosen : ModelChoice
        The model.
    gpus : tuple of Gpu
        The accelerators, each to be asked about alone.
    base : Deployment
        Dtypes, engine and its options.
    dtype_given : bool
        Whether the user named the format of the weights.
    sizes : Sizes
        Parallel sizes, where they were given.
    workload : Workload
        The load.
    prices : dict of str to PricePerHour
        By accelerator.
    unpriced : dict of str to str
        Why others have no price.
    catalogue : Catalogue
        Where all of it is looked up.
    """

    name: str
    chosen: ModelChoice
    gpus: tuple[Gpu, ...]
    base: Deployment
    dtype_given: bool
    sizes: Sizes
    workload: Workload
    prices: dict[str, PricePerHour]
    unpriced: dict[str, str]
    catalogue: Catalogue

    @property
    def model(self) -> Model:
        """Return the model."""
        return self.chosen.model


def question(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    load: Mapping[str, Any],
    options: Mapping[str, Any],
    catalogue: Catalogue,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
) -> Question:
    """Return what is asked, every name looked up.

    Parameters
    ----------
    model : str, path or Model
        Id or alias of the catalogue, path of a `config.json` or its directory, a hub id, or a record.
    gpu : str, Gpu, or several
        Ids or aliases (several with commas or as a list), or records.
    load : mapping
        Fields of `Workload`.
    options : mapping
        Fields of `Sizes` and of `Deployment`, and `planner.economics.OWNING_ARGUMENTS`; None is what was not
        given.
    catalogue : Catalogue
        Where names are looked up.
    price, price_kind
        As `prices_of` takes them.

    Returns
    -------
    Question

    Raises
    ------
    PlannerError
        For unknown names and impossible values.
    """
    chosen = chosen_model(model, catalogue)
    cards = gpu_records(gpu, catalogue)
    terms = terms_given(options)
    options = {name: value for name, value in options.items() if name not in OWNING_ARGUMENTS}
    further = {name: _count(name, value) for name, value in options.items() if value is not None}
    sizes = Sizes(**{name: further.pop(name) for name in Sizes.model_fields if name in further})
    check_fields(options)
    if sizes.pp is None and "pipeline_layers" in further:
        further["pipeline_layers"] = _layers(further["pipeline_layers"])
        sizes = sizes.model_copy(update={"pp": len(further["pipeline_layers"])})
    dtype_given = "weight_dtype" in further
    fields = {"weight_dtype": chosen.quantisation, "pp": sizes.pp or 1, **further}
    workload = Workload(**{name: _count(name, value) for name, value in load.items() if value is not None})
    prices, unpriced = prices_of(cards, price, price_kind, catalogue, terms)
    return Question(
        name=chosen.model.id if isinstance(model, Model) else str(model),
        chosen=chosen,
        gpus=tuple(cards),
        base=Deployment(**fields),
        dtype_given=dtype_given,
        sizes=sizes,
        workload=workload,
        prices=prices,
        unpriced=unpriced,
        catalogue=catalogue,
    )


def chosen_model(model: str | os.PathLike[str] | Model, catalogue: Catalogue) -> ModelChoice:
    """Return the model that was named, given as a path, or given as a record."""
    if isinstance(model, Model):
        return ModelChoice(model)
    if isinstance(model, str | os.PathLike) and isinstance(os.fspath(model), str):
        _refuse_media(os.fspath(model), catalogue)
        chosen = model_from(os.fspath(model), catalogue)
        _check_config(chosen.model, catalogue)
        return chosen
    raise InvalidInput(f"model: {shorten(model)} is neither a name, nor a path, nor a record of a model")


def _refuse_media(name: str, catalogue: Catalogue) -> None:
    """Refuse a model that makes pictures, videos or meshes: it has no tokens to be asked about."""
    try:
        key = catalogue.resolve("media_models", name)
    except UnknownName:
        return
    raise InvalidInput(
        f"model: {key} is a media model; fit, predict, compare, plan and breakeven answer for it, with sizes "
        "and steps instead of tokens"
    )


def _check_config(model: Model, catalogue: Catalogue) -> None:
    """Build the model's blocks; what is wrong with a configuration of a catalogue file has a line there."""
    try:
        architecture_of(SameModel(model))
    except PlannerError as error:
        where = "" if model.config_status == "imported" else _config_line(model, str(error), catalogue)
        raise type(error)(f"{where}{error}") from None


def _config_line(model: Model, complaint: str, catalogue: Catalogue) -> str:
    """Return file and line of the field that a complaint names, else those of the configuration."""
    entry = next(
        (one for one in reversed(catalogue.entries("models", model.id)) if "config" in one.data), None
    )
    if entry is None:
        return ""
    fields = entry.data["config"]
    words = re.findall(r"\w+", complaint.removeprefix(model.id))
    other = "architectures" if "architecture" in words else ""
    field = next((word for word in words if word in fields), other)
    return f"{entry.piece.file}:{entry.line_of(('config', field))}: "


def _layers(value: Any) -> tuple[Any, ...]:
    """Return the layers of each stage as they were listed."""
    if not isinstance(value, list | tuple):
        raise InvalidInput(
            f"pipeline_layers: {shorten(value)} is no list; the layers of each stage are needed, as (40, 40)"
        )
    return tuple(value)


def _count(name: str, value: Any) -> Any:
    if name not in COUNTS or not isinstance(value, str):
        return value
    try:
        return parse_count(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def gpu_records(gpu: str | Gpu | Iterable[str | Gpu], catalogue: Catalogue) -> list[Gpu]:
    """Return the accelerators that were named, each once.

    Parameters
    ----------
    gpu : str, Gpu, or several
        Ids or aliases (several with commas or as a list), or records.
    catalogue : Catalogue
        Where names are looked up.

    Returns
    -------
    list of Gpu
    """
    if not isinstance(gpu, str | Gpu | Iterable) or isinstance(gpu, bytes | Model | Mapping):
        raise InvalidInput(f"gpu: {shorten(gpu)} is neither a name nor a record, nor several of them")
    named: list[str | Gpu] = [gpu] if isinstance(gpu, str | Gpu) else list(gpu)
    records: dict[str, Gpu] = {}
    for item in named:
        for one in [part.strip() for part in item.split(",")] if isinstance(item, str) else [item]:
            if one == "":
                raise InvalidInput("gpu: an empty name; write it like mi355x or mi355x,b200,b300")
            if not isinstance(one, str | Gpu):
                raise InvalidInput(f"gpu: {shorten(one)} is neither the name nor the record of a GPU")
            record = catalogue.gpu(one) if isinstance(one, str) else one
            name_own(record, catalogue)
            records[record.id] = record
    if not 0 < len(records) <= MOST_GPU_TYPES:
        raise InvalidInput(f"gpu: {len(records)} types named; 1 to {MOST_GPU_TYPES} are possible")
    return list(records.values())


def check_fields(options: Iterable[str]) -> None:
    """Refuse an option that is no field of `Sizes` or `Deployment`, and name the nearest one."""
    known = {**Sizes.model_fields, **Deployment.model_fields, **OWNING_ARGUMENTS}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise unknown_name("argument", unknown[0], known)


def _given_prices(price: Mapping[str, float], catalogue: Catalogue) -> dict[str, PricePerHour]:
    """Return the user's prices by accelerator; two names of one may not both have one."""
    given: dict[str, PricePerHour] = {}
    named: dict[str, str] = {}
    for name, usd in price.items():
        gpu = catalogue.gpu(name).id
        if gpu in given:
            raise InvalidInput(f"price: {named[gpu]} and {name} are both {gpu}, which has one price")
        given[gpu], named[gpu] = given_price(usd), name
    return given


def prices_of(
    types: list[Gpu],
    price: float | Mapping[str, float] | None,
    kind: str | None,
    catalogue: Catalogue,
    owning: Mapping[str, Any] | None = None,
) -> tuple[dict[str, PricePerHour], dict[str, str]]:
    """Return a price for each accelerator that has one, given ones first, and why others have none.

    Parameters
    ----------
    types : list of Gpu
        The accelerators.
    price : float or mapping, optional
        Price of one GPU [USD/h], for all types or by id or alias.
    kind : str, optional
        Take prices of this kind from the catalogue where none is given; "own" works out what owning costs,
        and "purchase" what a bought card does, which is taken too where its price or hours are given.
    catalogue : Catalogue
        Where names, quotes and costs of owning are looked up.
    owning : mapping, optional
        With "own", the user's `planner.economics.OwningTerms`, by field.

    Returns
    -------
    tuple of dict
        Prices, and reasons, by accelerator.
    """
    given = _prices_given(types, price, catalogue)
    if kind is None and any(name in (owning or {}) for name in ("price_usd", "hours_a_day")):
        kind = PURCHASE
    _check_kind(kind, owning, types, catalogue)
    if kind is None:
        return given, {}
    missing: dict[str, str] = {}
    for record in types:
        if record.id in given:
            continue
        try:
            if kind == OWN:
                from planner.economics.owned import own_price  # late: most questions own nothing

                given[record.id] = own_price(record, catalogue, owning)
            elif kind == PURCHASE:
                from planner.economics.purchase import bought_price  # late, likewise

                given[record.id] = bought_price(record, catalogue, owning)
            else:
                quotes = catalogue.prices(record.id)
                given[record.id] = catalogue_price(gpu=record.id, kind=kind, quotes=quotes)
        except Unsupported as error:
            missing[record.id] = str(error)
    return given, missing


def _prices_given(
    types: list[Gpu], price: float | Mapping[str, float] | None, catalogue: Catalogue
) -> dict[str, PricePerHour]:
    """Return the prices that the user states, by accelerator."""
    if not isinstance(price, Mapping):
        return {} if price is None else {record.id: given_price(price) for record in types}
    given = _given_prices(price, catalogue)
    others = sorted(set(given) - {record.id for record in types})
    if others:
        raise InvalidInput(f"price: {', '.join(others)} is priced, but not among the GPUs asked about")
    return given


def _check_kind(
    kind: object, owning: Mapping[str, Any] | None, types: list[Gpu], catalogue: Catalogue
) -> None:
    """Refuse a kind that does not exist, and terms of owning where nothing is owned."""
    if kind is not None and not isinstance(kind, str):
        raise InvalidInput(f"price_kind: {shorten(kind)} is no name of a kind, such as on-demand")
    if kind == API:
        raise InvalidInput("price_kind: a hosted API asks a price per token, and none per GPU-hour")
    if kind not in (OWN, PURCHASE):
        stated = [name for name, value in (owning or {}).items() if value is not None]
        if stated:
            named = next(name for name, field in OWNING_ARGUMENTS.items() if field == stated[0])
            raise InvalidInput(f"{named}: a term of owning needs the price kind own or purchase")
        known = [*(each.value for each in PriceKind), OWN, PURCHASE]
        if kind is not None and kind not in known:
            raise unknown_name("price kind", kind, known)
    else:
        from planner.economics.owned import check_named

        check_named(owning, types, catalogue)
