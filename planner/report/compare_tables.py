"""The tables of a comparison: figures, money, what differs, pairs, kinds of prices, the model's own order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planner.economics import CACHED_WEIGHT
from planner.performance.intervals import Estimate
from planner.planning.compare import Pair
from planner.report.compare_text import merit_text, percent, probability, shown_merit
from planner.report.prediction_text import interval, number
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from planner.economics import Currency
    from planner.planning.compare import Ranking
    from planner.planning.compare_kinds import KindRanking
    from planner.report.compare import CompareAnswer, CompareReport

GPU = Column("gpu", "GPU", show=gpu_label)
RANK = Column("rank", "place", right=True)


def _money(value: float) -> str:
    return f"{value:,.2f}"


def _estimate(value: Estimate | float) -> str:
    """Return a figure with its interval; a price that is asked has none."""
    return f"{number(value.value)} ({interval(value)})" if isinstance(value, Estimate) else number(value)


def compare_tables(report: CompareReport) -> tuple[Table, ...]:
    """Return all tables of a comparison in the order in which they are read.

    Parameters
    ----------
    report : CompareReport
        The comparison.

    Returns
    -------
    tuple of Table
        Those that have rows.
    """
    tables = (
        figures_table(report),
        money_table(report),
        tokens_table(report),
        pairs_table(report),
        kinds_table(report),
        model_table(report),
        differences_table(report),
    )
    return tuple(table for table in tables if table is not None)


def figures_table(report: CompareReport) -> Table:
    """Return what each yields, columns of nothing left out; one without figures has its reason."""
    columns = (
        RANK,
        GPU,
        Column("gpus", "GPUs", right=True),
        Column("layout", "layout", flexible=True),
        Column("concurrency", "requests\nat once", right=True, show=number),
        Column("output_tps_total", "output\ntok/s", right=True, show=number),
        Column("interval", "80 %\ninterval", right=True),
        Column("output_tps_per_gpu", "tok/s\na GPU", right=True, show=number),
        Column("tps_per_user", "tok/s\na user", right=True, show=number),
        Column("ttft_ms", "TTFT\nms", right=True, show=number),
        Column("tpot_ms", "TPOT\nms", right=True, show=number),
        Column("source", "from"),
    )
    return Table(columns, tuple(_figures_row(answer) for answer in report)).filled()


def _figures_row(answer: CompareAnswer) -> dict[str, Any]:
    rate = answer.figures.get("output_tps_total")
    return {
        "rank": answer.rank,
        "gpu": answer.gpu,
        "gpus": answer.gpus,
        "layout": answer.layout,
        "concurrency": answer.found.concurrency,
        "interval": None if rate is None else interval(rate),
        "source": answer.found.source if answer.answered else answer.found.state,
        **{name: found.value for name, found in answer.figures.items()},
    }


def money_table(report: CompareReport) -> Table | None:
    """Return power, price and what each dollar an hour buys while serving; None where nothing is known."""
    shown = [answer for answer in report if answer.answered]
    columns = [
        GPU,
        Column("nodes", "nodes", right=True),
        Column("kw", "kW\nall-in", right=True, show="{:,.1f}".format),
    ]
    currency = report.currency
    if any(answer.price for answer in shown):
        columns += [
            Column("usd_per_gpu_hour", f"{currency.code} per\nGPU-hour", right=True, show=_money),
            Column("usd_per_hour", f"{currency.code}/h\nall GPUs", right=True, show=_money),
            Column("merit", f"tok/s per\n{currency.code}/h", right=True, show=merit_text),
            Column("interval", "80 %\ninterval", right=True),
        ]
    columns.append(Column("joules", "J per output\ntoken", right=True, show=number))
    if any(answer.price for answer in shown):
        columns.append(Column("price", "price", flexible=True))
    if not shown:
        return None
    return Table(tuple(columns), tuple(_money_row(answer, currency) for answer in shown)).filled()


def _money_row(answer: CompareAnswer, currency: Currency) -> dict[str, Any]:
    bought, joules, price = answer.output_tps_per_usd_per_hour, answer.joules_per_output_token, answer.price
    bought = None if bought is None else bought.scaled(1 / currency.per_usd)
    return {
        "gpu": answer.gpu,
        "nodes": answer.nodes,
        "kw": answer.kw,
        "usd_per_gpu_hour": currency.of_usd(price.usd_per_gpu_hour) if price else None,
        "usd_per_hour": None if answer.usd_per_hour is None else currency.of_usd(answer.usd_per_hour),
        "merit": bought.value if bought else None,
        "interval": interval(bought) if bought else None,
        "joules": joules.value if joules else None,
        "price": _price(answer),
    }


def _price(answer: CompareAnswer) -> str | None:
    """Return the kind of a price in short; the sources have each quote."""
    price = answer.price
    if price is None:
        return answer.fit.no_price
    if price.kind == "given":
        return price.provenance
    return f"{price.kind}, median of {len(price.quotes)}" if len(price.quotes) > 1 else price.kind


def tokens_table(report: CompareReport) -> Table | None:
    """Return what tokens cost with the use that was planned, and at hosted APIs; None without prices."""
    currency = report.currency
    rows = [*_token_rows(report, currency), *_hosted_rows(report, currency)]
    if not rows:
        return None
    columns = (
        Column("gpu", "GPU"),
        Column("all", "all on the output\n(80 % interval)", right=True, show=_estimate),
        Column("output", "output", right=True, show=number),
        Column("input", "input", right=True, show=number),
        Column("cached", "cached\ninput", right=True, show=number),
        Column("total", "every\ntoken", right=True, show=number),
        Column("tokens", f"output tokens\nper {currency.code}", right=True, show=number),
    )
    title = f"{currency.code} per million tokens"
    if any(answer.costs is not None for answer in report):
        title += f", {report.answer.use.sentence}; cached input at {CACHED_WEIGHT:g} times input (assumed)"
    return Table(columns, tuple(rows), title)


def _token_rows(report: CompareReport, currency: Currency) -> Iterator[dict[str, Any]]:
    for answer in report:
        found = answer.costs
        if found is not None:
            yield {
                "gpu": gpu_label(answer.gpu),
                "all": found.usd_per_million_output_all.scaled(currency.per_usd),
                "output": _shown(found.usd_per_million_output, currency),
                "input": _shown(found.usd_per_million_input, currency),
                "cached": _shown(found.usd_per_million_cached, currency),
                "total": _shown(found.usd_per_million_total, currency),
                "tokens": found.tokens_per_usd.value / currency.per_usd,
            }


def _hosted_rows(report: CompareReport, currency: Currency) -> Iterator[dict[str, Any]]:
    for offer in report.hosted:
        yield {
            "gpu": offer.name,
            "all": currency.of_usd(offer.usd_per_million_output_all),
            "output": currency.of_usd(offer.price.usd_per_million_output),
            "input": currency.of_usd(offer.price.usd_per_million_input),
            "cached": currency.of_usd(offer.price.cached),
            "total": currency.of_usd(offer.usd_per_million_total),
            "tokens": offer.tokens_per_usd / currency.per_usd,
        }


def _shown(found: Estimate | None, currency: Currency) -> float | None:
    return None if found is None else currency.of_usd(found.value)


def pairs_table(report: CompareReport) -> Table | None:
    """Return every two: by how much the first is ahead, how sure that is, and the price that flips it."""
    if not report.ranking.pairs:
        return None
    columns = (
        Column("ahead", "ahead", show=gpu_label),
        Column("behind", "of", show=gpu_label),
        Column("lead", "by", right=True),
        Column("probability", "probability", right=True, show=probability),
        Column("sure", "more than the\nuncertainty"),
        Column("flip", "first wins under this\nratio of prices", right=True),
        Column("now", "ratio\nnow", right=True, show="{:.2f}".format),
    )
    unit = f"for each {report.currency.unit} an hour" if report.ranking.priced else "of each GPU"
    ranking = report.ranking
    which = "Two by two" if ranking.told_pairs == ranking.pairs else "The first against each other"
    rows = tuple(_pair_row(pair) for pair in ranking.told_pairs)
    return Table(columns, rows, f"{which}, by output tok/s {unit}").filled()


def _pair_row(pair: Pair) -> dict[str, Any]:
    flip = pair.flip_price_ratio
    return {
        "ahead": pair.ahead,
        "behind": pair.behind,
        "lead": percent(pair.lead.value - 1),
        "probability": pair.probability,
        "sure": "yes" if pair.sure else "no",
        "flip": f"{flip.value:.2f} ({flip.low:.2f} to {flip.high:.2f})",
        "now": pair.price_ratio,
    }


def kinds_table(report: CompareReport) -> Table | None:
    """Return the order under every kind of price that all have, at the median and at the ends of quotes."""
    if not report.kinds:
        return None
    names = report.ranking.names
    columns = (
        Column("kind", "kind of price"),
        Column("quotes", "quotes"),
        *(Column(name, gpu_label(name), right=True, show=_money) for name in names),
        Column("order", "order", flexible=True),
    )
    currency = report.currency
    rows = tuple(row for each in report.kinds for row in _kind_rows(each, currency))
    title = f"The order under every kind of price that all have, {currency.code} per GPU-hour"
    return Table(columns, rows, title)


def _kind_rows(each: KindRanking, currency: Currency) -> Iterator[dict[str, Any]]:
    """Yield the median; where quotes differ all at the lowest, the highest, and the worst for the first."""
    yield _kind_row(each, "median", each.median, currency)
    if each.low == each.high:
        return
    yield _kind_row(each, "lowest", each.at_low, currency)
    yield _kind_row(each, "highest", each.at_high, currency)
    yield _kind_row(each, "worst for first", each.worst, currency)


def _kind_row(each: KindRanking, quotes: str, ranking: Ranking, currency: Currency) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "quotes": quotes,
        **{option.name: currency.of_usd(option.usd_per_gpu_hour or 0.0) for option in ranking.options},
        "order": ", ".join(map(gpu_label, ranking.names)),
    }


def model_table(report: CompareReport) -> Table | None:
    """Return the order by the model alone beside that of the answers; None where nothing was measured."""
    by_model = report.simulated_ranking
    if by_model is None:
        return None
    priced = by_model.priced
    unit = f"tok/s per\n{report.currency.code}/h" if priced else "tok/s\na GPU"
    columns = (
        GPU,
        RANK,
        Column("merit", unit, right=True, show=merit_text),
        Column("source", "from"),
        Column("model_rank", "place by\nthe model", right=True),
        Column(
            "model_merit",
            "model says\n(80 % interval)",
            right=True,
            show=_estimate,
        ),
    )
    models = {option.name: option for option in by_model.options}
    rows = tuple(
        {
            "gpu": answer.gpu,
            "rank": answer.rank,
            "merit": shown_merit(report, option, priced).value,
            "source": answer.found.source,
            "model_rank": by_model.ranks[answer.gpu],
            "model_merit": shown_merit(report, models[answer.gpu], priced),
        }
        for answer in report
        if (option := answer.option) is not None
    )
    return Table(columns, rows, "Measured, and what the model alone says of the same deployments")


def differences_table(report: CompareReport) -> Table:
    """Return how each deployment was chosen, and what a fair comparison names: engine, formats, basis."""
    columns = (
        GPU,
        Column("source", "figures"),
        Column("engine", "engine"),
        Column("weights", "weights", flexible=True),
        Column("kv_dtype", "KV"),
        Column("chosen", "how it was chosen, or why it has no figures", flexible=True),
    )
    rows = tuple(
        {
            "gpu": answer.gpu,
            "source": answer.found.source if answer.answered else None,
            "engine": answer.found.engine or None,
            "weights": answer.fit.weight_format,
            "kv_dtype": answer.fit.memory.deployment.kv_dtype,
            "chosen": answer.found.chosen if answer.answered else answer.reason,
        }
        for answer in report
    )
    return Table(columns, rows, "What was compared")


def compare_sources(report: CompareReport) -> Table:
    """Return the runs that were measured and the quotes, with their dates."""
    rows: list[dict[str, Any]] = []
    for answer in report:
        label = gpu_label(answer.gpu)
        if answer.found.measured is not None:
            rows += [
                {
                    "what": f"measured on {point.n_gpus} x {label}",
                    "source": point.cited if point.own else point.source,
                    "date": point.date,
                    "url": point.source_url,
                }
                for point in answer.found.measured.points
            ]
        rows += price_rows(label, answer.price)
    for each in report.kinds:
        for name, price in each.prices.items():
            rows += price_rows(gpu_label(name), price)
    rows += [{"what": f"price of {one.name}", "source": one.price.provenance} for one in report.hosted]
    return sources_table(rows)
