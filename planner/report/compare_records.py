"""A comparison as plain data: the JSON object of schema `planner.compare/1`, and one flat row of a CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.planning.compare import Pair, Ranking
from planner.report.compare_text import flip_sentence, pair_sentence, slo_limits
from planner.report.hosted import hosted_record
from planner.report.measured import point_record
from planner.report.prediction_records import FIGURES, estimate_record

if TYPE_CHECKING:
    from planner.performance.intervals import Estimate
    from planner.planning.compare_kinds import KindRanking
    from planner.report.compare import CompareAnswer, CompareReport

SCHEMA = "planner.compare/1"

COSTS = (
    "usd_per_million_output",
    "usd_per_million_input",
    "usd_per_million_cached",
    "usd_per_million_total",
    "usd_per_million_output_all",
    "tokens_per_usd",
)
"""As `planner.economics.TokenCosts` names them."""


def compare_record(report: CompareReport) -> dict[str, Any]:
    """Return a comparison as one JSON-ready object, units in the keys.

    Parameters
    ----------
    report : CompareReport
        The comparison.

    Returns
    -------
    dict
        `results` has the best first, and those without figures last, with their reason.
    """
    first, ranking = report.answer, report.ranking
    load = first.load
    return {
        "schema": SCHEMA,
        "model": first.fit.model,
        "model_name": first.fit.model_name,
        "about": report.about,
        "isl_tokens": load.isl,
        "osl_tokens": load.osl,
        "concurrency": load.concurrency,
        "request_rate_per_s": load.request_rate_per_s,
        "prefix_hit": load.prefix_hit,
        "slo": dict(report.slo.limits) if slo_limits(report) and report.slo else None,
        "throughput": report.throughput,
        "use": {
            "utilisation": first.use.utilisation,
            "availability": first.use.availability,
            "provenance": first.use.provenance,
        },
        "sentence": report.sentence,
        "ranked_by": "output_tps_per_usd_per_hour" if ranking.priced else "output_tps_per_gpu",
        "winners": list(ranking.winners),
        "currency": report.currency.model_dump(),
        "results": [answer_record(answer) for answer in report],
        "left_out": dict(report.left_out),
        "hosted": [hosted_record(one, first) for one in report.hosted],
        "pairs": [pair_record(pair, ranking.priced) for pair in ranking.pairs],
        "by_model_alone": _by_model(report.simulated_ranking),
        "price_kinds": [kind_record(each) for each in report.kinds],
        "price_kinds_lacking": {kind: list(names) for kind, names in report.lacking.items()},
        "warnings": list(report.warnings),
        "catalogue_digest": first.fit.catalogue_digest,
    }


def answer_record(answer: CompareAnswer) -> dict[str, Any]:
    """Return one accelerator of a comparison."""
    fit, found = answer.fit, answer.found
    deployment, price, costs = fit.memory.deployment, answer.price, answer.costs
    return {
        "gpu": answer.gpu,
        "gpu_name": fit.gpu_name,
        "vendor": answer.vendor,
        "rank": answer.rank,
        "state": found.state,
        "reason": answer.reason or None,
        "chosen": found.chosen,
        "fits": fit.memory.fits,
        "gpus": answer.gpus,
        "nodes": answer.nodes,
        "layout": answer.layout,
        **{name: getattr(deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")},
        "engine": found.engine or None,
        "weight_format": fit.weight_format,
        "kv_dtype": deployment.kv_dtype,
        "concurrency": found.concurrency,
        "source": found.source if answer.answered else None,
        **{name: estimate_record(answer.figures.get(name), found.source_of(name)) for name in FIGURES},
        "simulated": {
            name: estimate_record((found.simulated or {}).get(name), "simulated") for name in FIGURES
        },
        "prefill_share": found.prefill_share,
        "kw": answer.kw,
        "joules_per_output_token": _interval(answer.joules_per_output_token),
        "usd_per_gpu_hour": price.usd_per_gpu_hour if price else None,
        "usd_per_hour": answer.usd_per_hour,
        "price_kind": price.kind if price else None,
        "price_provenance": price.provenance if price else fit.no_price,
        "output_tps_per_usd_per_hour": _interval(answer.output_tps_per_usd_per_hour),
        **{name: _interval(getattr(costs, name) if costs else None) for name in COSTS},
        "cached_weight": costs.cached_weight if costs else None,
        "measured": [point_record(point) for point in found.measured.points] if found.measured else [],
        "warnings": list(answer.warnings),
    }


def _interval(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "provenance": found.provenance,
    }


def pair_record(pair: Pair, priced: bool) -> dict[str, Any]:
    """Return two options, the one that is ahead first."""
    return {
        "ahead": pair.ahead,
        "behind": pair.behind,
        "lead": _interval(pair.lead),
        "probability": pair.probability,
        "larger_than_uncertainty": pair.sure,
        "price_ratio": pair.price_ratio,
        "flip_price_ratio": _interval(pair.flip_price_ratio),
        "flip_usd_per_gpu_hour": _interval(pair.flip_usd_per_gpu_hour),
        "sentences": [pair_sentence(pair, priced), flip_sentence(pair)],
    }


def kind_record(each: KindRanking) -> dict[str, Any]:
    """Return the order under one kind of price."""
    return {
        "kind": each.kind,
        "usd_per_gpu_hour": {
            name: {
                "median": price.usd_per_gpu_hour,
                "low": each.low[name],
                "high": each.high[name],
                "provenance": price.provenance,
            }
            for name, price in each.prices.items()
        },
        "order": list(each.median.names),
        "ranks": dict(each.median.ranks),
        "first_at_low": each.at_low.names[0],
        "first_at_high": each.at_high.names[0],
        "holds_at_any_quotes": each.holds,
    }


def _by_model(ranking: Ranking | None) -> dict[str, Any] | None:
    if ranking is None:
        return None
    return {"order": list(ranking.names), "ranks": dict(ranking.ranks)}


def flat_record(answer: CompareAnswer) -> dict[str, Any]:
    """Return one accelerator as a flat row; every row has the same keys."""
    record = answer_record(answer)
    named = (*FIGURES, "joules_per_output_token", "output_tps_per_usd_per_hour", *COSTS)
    plain = {
        key: value
        for key, value in record.items()
        if key not in named and key not in ("simulated", "measured", "warnings")
    }
    spread: dict[str, Any] = {}
    for name in named:
        found = record[name] or {}
        spread[name] = found.get("value")
        spread.update({f"{name}_low": found.get("low"), f"{name}_high": found.get("high")})
    for name in FIGURES:
        spread[f"{name}_source"] = (record[name] or {}).get("source")
    measured = record["measured"][0] if record["measured"] else {}
    return {
        "model": answer.fit.model,
        "isl_tokens": answer.load.isl,
        "osl_tokens": answer.load.osl,
        **plain,
        **spread,
        "utilisation": answer.use.utilisation,
        "availability": answer.use.availability,
        "measured_source": measured.get("source"),
        "measured_source_url": measured.get("source_url"),
        "warnings": " | ".join(record["warnings"]),
    }
