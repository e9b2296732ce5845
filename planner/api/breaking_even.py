"""Ask when the answer flips: the price, utilisation, volume or load at which two options cost the same."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.api.arguments import one_of, open_catalogue
from planner.api.media_door import answers_media
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import (
    DoesNotFit,
    InvalidInput,
    PlannerError,
    UnknownName,
    Unsupported,
    shorten,
)
from planner.planning.question import Question, gpu_records, prices_of

if TYPE_CHECKING:
    from planner.api.side_making import Maker
    from planner.economics import Currency
    from planner.measurement.sides import Load, Side
    from planner.report.breakeven import BreakEvenReport


@reproducible
@answers_media
def breakeven(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    over: str = "price",
    isl: int | str | None = None,
    osl: int | str | None = None,
    concurrency: int | str | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    gpus: int | Iterable[int] | None = None,
    weight_dtype: str | Iterable[str] | None = None,
    engine: str | Iterable[str] = "vllm",
    throughput: str = "auto",
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | Iterable[str] | None = None,
    api_price: tuple[float, ...] | None = None,
    mixed_kinds: bool = False,
    utilisation: float | None = None,
    availability: float | None = None,
    between: tuple[float, float] | None = None,
    currency: str | None = None,
    usd_rate: float | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> BreakEvenReport:
    """Say where the cheaper of two options changes, how sure that is, and what else would move the answer.

    Parameters
    ----------
    model, isl, osl, context, prefix_hit, throughput, draft, tokens_per_step, network_bytes_per_s
        As for `predict`.
    gpu, gpus, weight_dtype, engine, price_kind
        As for `compare`; exactly one of them names two, with a comma or as a list, and they are the options.
        The kind "own" works out what owning costs and "api" is a hosted API, so that "on-demand,own" is
        renting against owning.
    over : str
        What varies: ``price``, ``utilisation``, ``volume`` (output tokens a month), ``isl``, ``osl``,
        ``context`` (input and output), ``concurrency`` or ``weight-dtype``; the formats are then all that
        `weight_dtype` names.
    concurrency : int or str, optional
        Requests at once; without it each deployment is at its best.
    price : float or mapping, optional
        Price of one GPU [USD/h]; GPU time is compared where prices are missing.
    api_price : tuple of float, optional
        With the kind "api": USD per million input, output and, perhaps, cached tokens; a published price
        otherwise.
    mixed_kinds : bool
        Whether two accelerators may be compared at prices of different kinds.
    utilisation, availability : float, optional
        Share of paid time that is used, and in which GPUs work; the catalogue's assumption otherwise.
    between : tuple of float, optional
        Where lengths and concurrencies are searched.
    currency : str, optional
        Code of ISO 4217 in which money is shown; prices are given, and numbers of JSON and CSV are, in USD.
    usd_rate : float, optional
        Units of it that 1 USD is worth.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.
    **options
        Other sizes, fields of `planner.scenario.Deployment`, and terms of owning as `own` takes them.

    Returns
    -------
    BreakEvenReport
        The points at which the cheaper option changes, each with its 80 % interval; none where it never does.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.api.side_making import Maker, listed, options_of
    from planner.economics import (
        PURCHASE,
        check_named,
        currency_of,
        planned_use,
        terms_given,
        use_of_purchase,
    )
    from planner.measurement.breaking_even import OVERS, WEIGHT_DTYPE
    from planner.measurement.operating_point import CHOICES
    from planner.measurement.predicted import Speculation

    one_of("quantity to vary", over, OVERS)
    one_of("throughput", throughput, CHOICES)
    if between is not None:
        _check_range(between)
    shown = currency_of(currency, usd_rate)
    book = open_catalogue(catalogue)
    prices_of(gpu_records(gpu, book), price, None, book)  # refuses prices of what is not asked about
    check_named(terms_given(options), gpu_records(gpu, book), book)
    given_purchase = any(options.get(name) is not None for name in ("purchase", "hours_a_day"))
    if given_purchase and price_kind is None:
        price_kind = PURCHASE
    given = {
        "gpu": gpu,
        "gpus": gpus,
        "weight_dtype": None if over == WEIGHT_DTYPE else weight_dtype,
        "engine": engine,
        "price_kind": price_kind,
    }
    load = {"isl": isl, "osl": osl, "concurrency": concurrency, "context": context, "prefix_hit": prefix_hit}
    bought = PURCHASE in listed("price_kind", price_kind)
    use = planned_use(book, utilisation, availability)
    if bought and utilisation is None:
        use = use_of_purchase(book, options, availability)
    maker = Maker(
        model=model,
        load=load,
        options=options,
        price=price,
        api_price=api_price,
        throughput=throughput,
        speculation=Speculation(draft, tokens_per_step),
        network_bytes_per_s=network_bytes_per_s,
        use=use,
        catalogue=book,
    )
    both = options_of(given, book)
    kinds = mixed_kinds or len(listed("price_kind", price_kind)) > 1
    if over == WEIGHT_DTYPE:
        return _by_dtype(maker, both, listed("weight_dtype", weight_dtype), kinds, shown)
    return _report(maker, both, over, between, kinds, shown)


def _check_range(between: object) -> None:
    """Refuse what is not two numbers above 0, the smaller first."""
    ends = between if isinstance(between, tuple | list) else ()
    numbers = [end for end in ends if isinstance(end, int | float)]
    if len(ends) != 2 or len(numbers) != 2 or not 0 < float(numbers[0]) < float(numbers[1]) < math.inf:
        raise InvalidInput(f"between: {shorten(between)} is no range; two numbers above 0, the smaller first")


Both = list[tuple[str, dict[str, Any]]]
"""Two options, each with its name and what makes it."""


def _sides(maker: Maker, both: Both, mixed_kinds: bool) -> tuple[tuple[Side, Side], Question, list[str]]:
    """Return both options, what was asked, and what is to be said of their prices."""
    from planner.economics import check_kinds

    made = [maker.side(name, chosen) for name, chosen in both]
    asked = next(question for _, question in made if question is not None)
    sides = [side for side, _ in made]
    said = []
    missing = [side.name for side in sides if not side.priced]
    if missing and any(side.hosted for side in sides):
        raise InvalidInput(
            f"{missing[0]} has no price to hold against a hosted one; give one with --price or --price-kind"
        )
    if missing:
        said.append(
            f"no price of {' and '.join(missing)}: GPU time of a token is compared; --price or --price-kind "
            "compares money"
        )
        sides = [replace(side, price=None) for side in sides]
    kinds = {side.name: side.price.kind for side in sides if side.price is not None}
    warning = check_kinds(kinds, mixed_kinds)
    if warning is not None and any(name != kind for name, kind in kinds.items()):
        said.append(warning)  # options that are kinds themselves say so by their names
    return (sides[0], sides[1]), asked, said


def _report(
    maker: Maker,
    both: Both,
    over: str,
    between: tuple[float, float] | None,
    mixed_kinds: bool,
    currency: Currency,
) -> BreakEvenReport:
    from planner.measurement.breaking_even import PRICE, decide
    from planner.measurement.tornado import tornado
    from planner.report.breakeven import BreakEvenReport
    from planner.report.breakeven_notes import about, breakeven_notes
    from planner.report.compare_notes import shown_in

    (first, second), asked, said = _sides(maker, both, mixed_kinds)
    load = load_from(asked)
    decided = decide(first, second, load, over, between)
    flip = decided.result.flip
    if over == PRICE and flip is not None and flip.at < 1 and not (first.hosted or second.hosted):
        # The ratio of prices is told of the option that may cost more.
        decided = decide(second, first, load, over, between)
    return BreakEvenReport(
        about=about(asked, load),
        model=asked.model.id,
        over=over,
        sides=(decided.first, decided.second),
        decided=decided,
        swings=tornado(decided, currency),
        notes=(*said, *shown_in(currency), *breakeven_notes(decided)),
        catalogue_digest=asked.catalogue.digest,
        currency=currency,
    )


def load_from(asked: Question) -> Load:
    """Return the load of a question."""
    from planner.measurement.sides import Load

    workload = asked.workload
    assert workload.isl is not None
    assert workload.osl is not None
    return Load(float(workload.isl), float(workload.osl), workload.concurrency, workload.prefix_hit)


def _by_dtype(
    maker: Maker, both: Both, dtypes: list[Any], mixed_kinds: bool, currency: Currency
) -> BreakEvenReport:
    """Compare two options with each format of the weights; what cannot run is named and left out."""
    from planner.measurement.breaking_even import WEIGHT_DTYPE, cost_ratio
    from planner.planning.breakeven import winner
    from planner.report.breakeven import BreakEvenReport, DtypeRow
    from planner.report.breakeven_notes import about
    from planner.report.compare_notes import shown_in

    dtypes = list(dict.fromkeys(dtypes))
    if len(dtypes) < 2:
        raise InvalidInput("over weight-dtype: name the formats, such as --weight-dtype bf16,fp8,mxfp4")
    rows: list[DtypeRow] = []
    said: list[str] = []
    last: tuple[tuple[Side, Side], Question] | None = None
    refused: PlannerError | None = None
    for dtype in dtypes:
        chosen = [(name, {**parts, "weight_dtype": dtype}) for name, parts in both]
        try:
            sides, asked, notes = _sides(maker, chosen, mixed_kinds)
        except (DoesNotFit, Unsupported, UnknownName) as error:
            refused = refused or error
            said.append(f"{dtype}: {error}")
            continue
        last = sides, asked
        load = load_from(asked)
        ratio = cost_ratio(sides[0], sides[1], load)
        names = (sides[0].name, sides[1].name)
        costs = (sides[0].usd_per_million(load), sides[1].usd_per_million(load))
        rows.append(DtypeRow(dtype, ratio, costs, winner(names, ratio.value)))
        said += notes
    if last is None:
        assert refused is not None
        raise refused
    return BreakEvenReport(
        about=about(last[1], load_from(last[1])),
        model=last[1].model.id,
        over=WEIGHT_DTYPE,
        sides=last[0],
        decided=None,
        dtypes=tuple(rows),
        notes=(*said, *shown_in(currency)),
        catalogue_digest=last[1].catalogue.digest,
        currency=currency,
    )
