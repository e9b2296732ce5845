"""A prediction in words: the sentence on top, where figures come from, and facts with their unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.economics import hourly_cost_usd
from planner.report.measured import price_text
from planner.report.sentences import gpu_label, layout, place
from planner.units import format_significant

if TYPE_CHECKING:
    from planner.measurement.operating_point import MeasuredPoint
    from planner.performance.intervals import Estimate
    from planner.planning.load import Load
    from planner.report.prediction import PredictAnswer

MANY = 1e4
"""From here on the digits behind the third are zeros."""
MS_PER_S = 1e3
MEASURED = "measured"
"""As `planner.measurement.operating_point` names where a figure comes from."""


def sentence(answer: PredictAnswer) -> str:
    """Return the answer in one sentence.

    Parameters
    ----------
    answer : PredictAnswer
        The answer.

    Returns
    -------
    str
        Where it does not fit, the sentence of the memory answer; where the load cannot be carried, that.
    """
    if not answer.fit.fits:
        return answer.fit.sentence
    where = f"{answer.fit.named} on {where_it_runs(answer)}, {load_text(answer.load)}"
    if answer.predicted.overload:
        return f"{where}: overloaded. {_first_upper(answer.predicted.overload)}."
    if answer.predicted.unmeasured:
        return f"{where}: {answer.predicted.unmeasured}."
    rate = answer.figures["output_tps_total"]
    source = answer.predicted.source_of("output_tps_total")
    measured = answer.predicted.measured
    if source == MEASURED and measured is not None and measured.points[0].own:
        source = "measured by you"
    if answer.predicted.provided is not None:
        source = f"by {answer.predicted.provided.version}"
    said = [f"{number(rate.value)} output tok/s, {source} (80 % interval {interval(rate)})"]
    user, first = answer.figures.get("tps_per_user"), answer.figures.get("ttft_ms")
    if user is not None:
        said.append(f"{number(user.value)} tok/s for each request")
    if first is not None:
        said.append(f"first token after {time_text(first.value)}")
    return f"{where}: {'; '.join(said)}."


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def where_it_runs(answer: PredictAnswer) -> str:
    """Return where a service runs, with its pools where prefill has GPUs of its own."""
    pools = answer.predicted.pools
    if pools is None:
        return place(answer.fit, answer.fit.memory)
    copy = layout(answer.fit.memory.deployment)
    return (
        f"{answer.gpus} x {gpu_label(answer.gpu)} ({pools.prefill_gpus} prefill, "
        f"{pools.decode_gpus} decode, each copy {copy})"
    )


def load_text(load: Load) -> str:
    """Return a load in words, such as "1,024 tokens in and 400 out, 32 requests at once"."""
    said = f"{load.isl:,} tokens in and {load.osl:,} out"
    if load.prefix_hit:
        said += f" ({load.prefix_hit:.0%} of the input cached)".replace("%", " %")
    if load.request_rate_per_s is not None:
        return f"{said}, {load.request_rate_per_s:g} requests/s"
    many = load.concurrency or 1
    return f"{said}, {'1 request' if many == 1 else f'{many:,} requests'} at once"


def number(value: float) -> str:
    """Return a figure with three digits, or four before the point: more would claim to know it better."""
    large = abs(value) >= MANY
    return format_significant(float(f"{value:.2e}") if large else value, 3)


def time_text(time_ms: float) -> str:
    """Return a time in the unit that people read it in, such as "131 ms" or "8.88 s"."""
    return f"{number(time_ms)} ms" if time_ms < MS_PER_S else f"{number(time_ms / MS_PER_S)} s"


def interval(estimate: Estimate) -> str:
    """Return the 80 % interval of a figure, such as "707 to 1,574"."""
    return f"{number(estimate.low)} to {number(estimate.high)}"


def measured_sentence(found: MeasuredPoint) -> str:
    """Return what was measured and where it is published, or in which file of the user, in one line."""
    runs = "" if found.runs == 1 else f"; the newest of {found.runs} that match"
    point = found.points[0]
    where = point.cited if point.own else f"{point.source}, {point.source_url}"
    return f"{found.match}{runs}: {where}"


def facts(answer: PredictAnswer) -> list[tuple[str, str]]:
    """Return the single facts behind a prediction, each with its label.

    Parameters
    ----------
    answer : PredictAnswer
        An answer with a prediction.

    Returns
    -------
    list of (label, text)
    """
    prediction = answer.predicted.prediction
    if prediction is None:
        return [("price", _price(answer))]
    memory = answer.fit.memory
    bounds = prediction.bounds
    said = [
        ("bound by", prediction.bound_by),
        (
            "batch",
            f"{number(prediction.batch)} requests decode at once in a copy of the deployment (simulated)",
        ),
        ("served", f"{number(answer.figures['output_tps_total'].value / prediction.osl)} requests/s"),
        (
            "one step",
            f"at least {number(1e3 * bounds.fastest_step_s)} ms if all overlapped at nameplate speed "
            f"(at most {number(bounds.most_output_tps)} output tok/s), "
            f"{number(1e3 * bounds.serial_step_s)} ms if nothing overlapped",
        ),
    ]
    if prediction.tokens_per_step > 1:
        said.append(("drafts", f"{number(prediction.tokens_per_step)} tokens a step"))
    if answer.load.request_rate_per_s is not None:
        said.append(("in the system", f"{number(prediction.concurrency)} requests on average"))
    said += [
        ("mean TTFT", f"{time_text(prediction.ttft_mean_ms)} (simulated)"),
        ("weights", answer.fit.weight_format),
        ("memory", f"{memory.verdict}; first limit: {memory.binding_limit}"),
        ("price", _price(answer)),
        ("parameters", prediction.provenance),
    ]
    return said


def _price(answer: PredictAnswer) -> str:
    price = answer.price
    if price is None:
        return answer.fit.no_price or "none given; --price or --price-kind adds costs"
    usd = price.usd_per_gpu_hour
    hourly = hourly_cost_usd(gpus=answer.gpus, usd_per_gpu_hour=usd)
    gpus = "1 GPU" if answer.gpus == 1 else f"{answer.gpus} GPUs"
    return (
        f"{gpus} x {usd:,.2f} = {hourly:,.2f} USD/h ({price_text(price)}); money per token is at full load: "
        "no idle and no failed hour is in it"
    )
