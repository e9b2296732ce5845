"""The tables of a comparison: figures, money, what differs, pairs, kinds of prices, the model's own order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planner.planning.compare import Pair, merit
from planner.report.compare_text import merit_text, percent, probability
from planner.report.prediction_text import interval, number
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.table import Column, Table

if TYPE_CHECKING:
    from planner.performance.intervals import Estimate
    from planner.planning.compare import Ranking
    from planner.planning.compare_kinds import KindRanking
    from planner.report.compare import CompareAnswer, CompareReport

GPU = Column("gpu", "GPU", show=gpu_label)
RANK = Column("rank", "place", right=True)


def _money(value: float) -> str:
    return f"{value:,.2f}"


def _estimate(value: Estimate) -> str:
    return f"{number(value.value)} ({interval(value)})"


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
    """Return what each yields; one without figures has its reason."""
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
    return Table(columns, tuple(_figures_row(answer) for answer in report))


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
    if any(answer.price for answer in shown):
        columns += [
            Column("usd_per_gpu_hour", "USD per\nGPU-hour", right=True, show=_money),
            Column("usd_per_hour", "USD/h\nall GPUs", right=True, show=_money),
            Column("merit", "tok/s per\nUSD/h", right=True, show=merit_text),
            Column("interval", "80 %\ninterval", right=True),
        ]
    columns.append(Column("joules", "J per output\ntoken", right=True, show=number))
    if any(answer.price for answer in shown):
        columns.append(Column("price", "price", flexible=True))
    if not shown:
        return None
    return Table(tuple(columns), tuple(_money_row(answer) for answer in shown))


def _money_row(answer: CompareAnswer) -> dict[str, Any]:
    bought, joules, price = answer.output_tps_per_usd_per_hour, answer.joules_per_output_token, answer.price
    return {
        "gpu": answer.gpu,
        "nodes": answer.nodes,
        "kw": answer.kw,
        "usd_per_gpu_hour": price.usd_per_gpu_hour if price else None,
        "usd_per_hour": answer.usd_per_hour,
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
    """Return what tokens cost with the use that was planned; None without prices."""
    costs = [(answer, found) for answer in report if (found := answer.costs) is not None]
    if not costs:
        return None
    columns = (
        GPU,
        Column("all", "all on the output\n(80 % interval)", right=True, show=_estimate),
        Column("output", "output", right=True, show=number),
        Column("input", "input", right=True, show=number),
        Column("cached", "cached\ninput", right=True, show=number),
        Column("total", "every\ntoken", right=True, show=number),
        Column("tokens", "output tokens\nper USD", right=True, show=number),
    )
    rows = tuple(
        {
            "gpu": answer.gpu,
            "all": found.usd_per_million_output_all,
            "output": _value(found.usd_per_million_output),
            "input": _value(found.usd_per_million_input),
            "cached": _value(found.usd_per_million_cached),
            "total": found.usd_per_million_total.value,
            "tokens": found.tokens_per_usd.value,
        }
        for answer, found in costs
    )
    use = report.answer.use.sentence
    return Table(columns, rows, f"USD per million tokens, {use}")


def _value(found: Estimate | None) -> float | None:
    return None if found is None else found.value


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
    per = "output tok/s for each dollar an hour" if report.ranking.priced else "output tok/s of each GPU"
    return Table(columns, tuple(_pair_row(pair) for pair in report.ranking.pairs), f"Two by two, by {per}")


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
    rows = tuple(row for each in report.kinds for row in _kind_rows(each))
    return Table(columns, rows, "The order under every kind of price that all have, USD per GPU-hour")


def _kind_rows(each: KindRanking) -> Iterator[dict[str, Any]]:
    """Yield the median; where quotes differ all at the lowest, the highest, and the worst for the first."""
    yield _kind_row(each, "median", each.median)
    if each.low == each.high:
        return
    yield _kind_row(each, "lowest", each.at_low)
    yield _kind_row(each, "highest", each.at_high)
    yield _kind_row(each, "worst for first", each.worst)


def _kind_row(each: KindRanking, quotes: str, ranking: Ranking) -> dict[str, Any]:
    return {
        "kind": each.kind,
        "quotes": quotes,
        **{option.name: option.usd_per_gpu_hour for option in ranking.options},
        "order": ", ".join(map(gpu_label, ranking.names)),
    }


def model_table(report: CompareReport) -> Table | None:
    """Return the order by the model alone beside that of the answers; None where nothing was measured."""
    by_model = report.simulated_ranking
    if by_model is None:
        return None
    priced = by_model.priced
    unit = "tok/s per\nUSD/h" if priced else "tok/s\na GPU"
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
            "merit": merit(option, priced).value,
            "source": answer.found.source,
            "model_rank": by_model.ranks[answer.gpu],
            "model_merit": merit(models[answer.gpu], priced),
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
                    "source": point.source,
                    "date": point.date,
                    "url": point.source_url,
                }
                for point in answer.found.measured.points
            ]
        rows += price_rows(label, answer.price)
    for each in report.kinds:
        for name, price in each.prices.items():
            rows += price_rows(gpu_label(name), price)
    return sources_table(rows)
