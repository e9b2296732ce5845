"""Ask which accelerator: side by side, in order, how sure that is, and at which price the order flips."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import answered, one_of, open_catalogue
from planner.api.media_door import answers_media
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput
from planner.planning.kept import kept
from planner.planning.question import Question, question

if TYPE_CHECKING:
    from planner.economics import Currency, Use
    from planner.measurement.compared import Compared
    from planner.measurement.predicted import Speculation
    from planner.report.compare import CompareAnswer, CompareReport
    from planner.report.hosted import HostedAnswer
    from planner.scenario.slo import LatencySlo

DEFAULT_GPUS = "mi355x,b200,b300"
"""What is compared where nobody names accelerators."""

BOUGHT_UNASKED = (
    "no kind of rent is quoted of all of them, so they are compared as bought, at list prices; --purchase, "
    "--hours-a-day, --life-years and --electricity state yours"
)


@reproducible
@answers_media
def compare(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu] = DEFAULT_GPUS,
    isl: int | str | None = None,
    osl: int | str | None = None,
    concurrency: int | str | None = None,
    request_rate: float | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    slo_ttft_s: float | None = None,
    slo_tpot_s: float | None = None,
    slo_e2e_s: float | None = None,
    throughput: str = "auto",
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    mixed_kinds: bool = False,
    api_price: tuple[float, ...] | None = None,
    utilisation: float | None = None,
    availability: float | None = None,
    currency: str | None = None,
    usd_rate: float | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> CompareReport:
    """Compare accelerators for one model and load: figures, money, order, how sure it is, and what flips it.

    Parameters
    ----------
    model, isl, osl, context, prefix_hit, throughput, draft, tokens_per_step, network_bytes_per_s
        As for `predict`.
    gpu : str, Gpu, or several
        The accelerators; MI355X, B200 and B300 by default.
    concurrency, request_rate : optional
        The load. Without either each accelerator is compared at its best: the highest output that was
        measured with these lengths, or else of the loads that the model tries; with an SLO of those that keep
        it.
    slo_ttft_s, slo_tpot_s, slo_e2e_s : float, optional
        Limits that medians must keep [s].
    price, price_kind
        As for `fit`. Without prices the order is by output per GPU.
    mixed_kinds : bool
        Whether prices of different kinds may be compared.
    api_price : tuple of float, optional
        USD per million input, output and, perhaps, cached tokens of a hosted API, which stands beside the
        order; the published ones of the model by default, where accelerators have prices.
    utilisation, availability : float, optional
        Share of paid time that is used, and in which GPUs work; the catalogue's assumption otherwise. They
        count for costs of tokens, and are the same for all.
    currency : str, optional
        Code of ISO 4217 in which money is shown; prices are given, and numbers of JSON and CSV are, in USD.
    usd_rate : float, optional
        Units of it that 1 USD is worth.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.
    **options
        Sizes (`gpus`, `tp`, `pp`, `ep`, `dp`, `dcp`), and fields of `planner.scenario.Deployment`. A layout
        that is given is taken; without one it is the smallest deployment that fits, and with an SLO or `gpus`
        alone the best that a search finds.

    Returns
    -------
    CompareReport
        One answer for each accelerator, the best first; `left_out` says why others could not be asked.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.economics import PURCHASE, check_kinds, currency_of, planned_use, use_of_purchase
    from planner.measurement.operating_point import CHOICES
    from planner.measurement.predicted import Speculation
    from planner.planning.load import full_load
    from planner.scenario.slo import latency_slo

    one_of("throughput", throughput, CHOICES)
    shown = currency_of(currency, usd_rate)
    book = open_catalogue(catalogue)
    said = []
    if price is None and price_kind is None and _only_bought(gpu, book):
        price_kind = PURCHASE
        said.append(BOUGHT_UNASKED)
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
        catalogue=book,
        price=price,
        price_kind=price_kind,
    )
    full_load(asked.workload)  # refuses lengths that are missing, and a load that is stated twice
    warning = check_kinds({gpu: price.kind for gpu, price in asked.prices.items()}, mixed_kinds)
    bought = bool(asked.prices) and all(each.kind == PURCHASE for each in asked.prices.values())
    use = planned_use(book, utilisation, availability)
    if bought and utilisation is None:
        use = use_of_purchase(book, options, availability)
    return _report(
        asked,
        throughput=throughput,
        slo=latency_slo(slo_ttft_s, slo_tpot_s, slo_e2e_s),
        speculation=Speculation(draft, tokens_per_step),
        network_bytes_per_s=network_bytes_per_s,
        use=use,
        notes=(*said, warning) if warning else tuple(said),
        api_price=api_price,
        currency=shown,
    )


def _only_bought(gpu: str | Gpu | Iterable[str | Gpu], catalogue: Catalogue) -> bool:
    """Return whether all that is compared is sold to anybody, and not rented on any terms that all share."""
    from planner.economics import only_bought
    from planner.planning.question import gpu_records

    return only_bought(gpu_records(gpu, catalogue), catalogue)


def _report(
    asked: Question,
    *,
    throughput: str,
    slo: LatencySlo | None,
    speculation: Speculation,
    network_bytes_per_s: float | None,
    use: Use,
    notes: tuple[str, ...],
    api_price: tuple[float, ...] | None,
    currency: Currency,
) -> CompareReport:
    from planner.planning.compare_kinds import rank_by_kind
    from planner.report.compare import CompareReport, in_order
    from planner.report.compare_notes import compare_notes, shown_in
    from planner.report.hosted import hosted_notes
    from planner.report.several import left_out_notes

    def found_on(card: Gpu) -> Compared:
        return outcome(
            asked,
            card,
            throughput=throughput,
            slo=slo,
            speculation=speculation,
            network_bytes_per_s=network_bytes_per_s,
        )

    by_gpu, left_out = answered(asked.gpus, lambda card: answer_of(asked, card, found_on(card), use))
    answers = list(by_gpu.values())
    if all(answer.found.state == "not measured" for answer in answers):
        raise InvalidInput(answers[0].found.reason)
    ordered, ranking, by_model = in_order(answers)
    quotes = {option.name: asked.catalogue.prices(option.name) for option in ranking.options}
    kinds, lacking = rank_by_kind(ranking.options, quotes)
    hosted = hosted_answers(asked, api_price)
    said = (
        *left_out_notes(left_out),
        *hosted_notes(hosted, ordered[0], currency),
        *shown_in(currency),
    )
    return CompareReport(
        ordered,
        ranking=ranking,
        simulated_ranking=by_model,
        kinds=kinds,
        lacking=lacking,
        slo=slo,
        throughput=throughput,
        notes=(*notes, *said, *compare_notes(ordered, ranking, by_model, kinds, lacking, currency)),
        left_out=left_out,
        hosted=hosted,
        currency=currency,
    )


def hosted_answers(asked: Question, api_price: tuple[float, ...] | None) -> tuple[HostedAnswer, ...]:
    """Return the hosted API that was stated, or the published ones where accelerators have prices."""
    from planner.economics import hosted_given, hosted_price, offers_of
    from planner.planning.load import load_of
    from planner.report.hosted import HostedAnswer

    load = load_of(asked.workload)
    if api_price is not None:
        return (HostedAnswer("hosted API", hosted_given(api_price), load),)
    if not asked.prices:
        return ()
    return tuple(
        HostedAnswer(
            f"hosted API ({offer.provider})", hosted_price(asked.model.id, asked.catalogue, key), load
        )
        for key, offer in offers_of(asked.model.id, asked.catalogue).items()
    )


@kept
def outcome(
    asked: Question,
    card: Gpu,
    *,
    throughput: str,
    slo: LatencySlo | None,
    speculation: Speculation,
    network_bytes_per_s: float | None,
) -> Compared:
    """Return what one accelerator yields: as given, the smallest that fits, or the best of a search.

    No price changes it, so that it is kept for questions at other prices.
    """
    from planner.measurement.comparing import compared
    from planner.measurement.searched import searched

    layout_given = asked.sizes.model_copy(update={"gpus": None}).given
    if slo is not None or (asked.sizes.gpus is not None and not layout_given):
        return searched(
            asked,
            card,
            throughput=throughput,
            slo=slo,
            speculation=speculation,
            network_bytes_per_s=network_bytes_per_s,
        )
    return compared(
        asked, card, throughput=throughput, speculation=speculation, network_bytes_per_s=network_bytes_per_s
    )


def answer_of(asked: Question, card: Gpu, found: Compared, use: Use) -> CompareAnswer:
    """Return an accelerator of a comparison with names, price and power."""
    from planner.economics.owned import all_in_power
    from planner.planning.load import load_of
    from planner.planning.sizing import Judgement
    from planner.report.answers import fit_answer
    from planner.report.compare import CompareAnswer

    power = all_in_power(card, asked.catalogue)
    return CompareAnswer(
        fit=fit_answer(asked, card, Judgement(found.memory, None, None)),
        found=found,
        load=load_of(asked.workload),
        use=use,
        kw_per_gpu=None if power is None else power.value / 1e3,
        vendor=card.vendor,
    )
