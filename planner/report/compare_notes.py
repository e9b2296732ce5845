"""What a fair comparison must say: what differs beside the accelerators, and on what the order rests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planner.economics import DOLLAR, Currency
from planner.report.compare_text import flip_sentence, kinds_sentence
from planner.report.prediction_text import interval, number
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from planner.planning.compare import Ranking
    from planner.planning.compare_kinds import KindRanking
    from planner.report.compare import CompareAnswer

HOW_SURE = (
    "how sure an order is: logarithms of figures are taken as normal with the widths of their 80 % "
    "intervals, and the errors of two as independent; what they share would cancel, so that the true spread "
    "is no larger"
)
MEDIANS = (
    "limits of the SLO are held against medians of the steady state; shares of requests need a simulation"
)
AT_A_RATE = (
    "at a rate all serve the same tokens, so that the order is that of the GPUs they take and of their "
    "prices; latencies and what each could carry beyond it are not in it"
)
MODEL_ALONE = (
    "an order that rests on the model should be measured before it is signed; docs/compare.md says how often "
    "such orders held"
)


def compare_notes(
    answers: Sequence[CompareAnswer],
    ranking: Ranking,
    by_model: Ranking | None,
    kinds: tuple[KindRanking, ...],
    lacking: Mapping[str, tuple[str, ...]],
    currency: Currency = DOLLAR,
) -> tuple[str, ...]:
    """Return what the user should know of a comparison.

    Parameters
    ----------
    answers : sequence of CompareAnswer
        The best first.
    ranking : Ranking
        Their order.
    by_model : Ranking or None
        The order on the model's figures alone.
    kinds : tuple of KindRanking
        The order under each kind of price that all have.
    lacking : mapping of str to tuple of str
        Of other kinds those without.
    currency : Currency
        In which prices are told.

    Returns
    -------
    tuple of str
    """
    shown = [answer for answer in answers if answer.answered]
    said: list[str] = []
    if shown:
        if shown[0].load.request_rate_per_s is not None:
            said.append(AT_A_RATE)
        said += _prices(shown, ranking)
        said += _far_off(shown)
        said += _basis(shown, ranking, by_model)
        said += _users(shown)
        said += _differences(shown)
    if ranking.pairs:
        said += [flip_sentence(pair, currency) for pair in ranking.told_pairs[1:]]
        if text := kinds_sentence(kinds):
            said.append(text)
        if lacking:
            kinds_missing = ", ".join(
                f"{kind} (not {', '.join(map(gpu_label, names))})" for kind, names in lacking.items()
            )
            said.append(f"kinds of prices that not all have: {kinds_missing}")
        said.append(HOW_SURE)
        if any(answer.found.source != "measured" for answer in shown):
            said.append(MODEL_ALONE)
    return tuple(said)


def shown_in(currency: Currency) -> tuple[str, ...]:
    """Return at which rate money is shown; nothing is to be said of USD, in which all is worked out."""
    return () if currency == DOLLAR else (f"money is shown at {currency.sentence}",)


def _prices(shown: Sequence[CompareAnswer], ranking: Ranking) -> list[str]:
    priced = [answer.price for answer in shown if answer.price is not None]
    owned = [f"{price.kind}: {price.caveats[0]}" for price in priced if price.caveats]
    missing = [gpu_label(answer.gpu) for answer in shown if answer.price is None]
    if not missing:
        return owned
    return [
        *owned,
        f"no price of {', '.join(missing)}: the order is by output per GPU; "
        "--price GPU=USD or --price-kind KIND compares money",
    ]


def _far_off(shown: Sequence[CompareAnswer]) -> list[str]:
    """Warn where a measured figure and the model's lie outside of each other's intervals."""
    apart = []
    for answer in shown:
        seen, model = answer.option, answer.simulated_option
        if seen is None or model is None or not seen.measured:
            continue
        one, other = seen.output_tps_per_gpu, model.output_tps_per_gpu
        if one.high < other.low or other.high < one.low:
            apart.append(
                f"{gpu_label(answer.gpu)} {number(one.value)} measured ({interval(one)}), "
                f"{number(other.value)} by the model ({interval(other)})"
            )
    if not apart:
        return []
    return [
        "measured and model differ by more than both their 80 % intervals, in tok/s a GPU: "
        f"{'; '.join(apart)}; find out how the run was set up, or measure again, before you rely on either"
    ]


def _users(shown: Sequence[CompareAnswer]) -> list[str]:
    """Say at which load tok/s a user holds where it is that of a single stream, or of no stated load."""
    said = []
    for answer in shown:
        load = answer.found.concurrency
        if "tps_per_user" not in answer.figures or (load is not None and load > 1):
            continue
        at = "of a run that does not state its load" if load is None else "with 1 request at once"
        said.append(f"{gpu_label(answer.gpu)}: tok/s a user is {at}, and no rate under load")
    return said


def _basis(shown: Sequence[CompareAnswer], ranking: Ranking, by_model: Ranking | None) -> list[str]:
    """Say where measured figures stand against simulated ones, or the model would order them otherwise."""
    measured = [gpu_label(answer.gpu) for answer in shown if answer.found.source == "measured"]
    simulated = [gpu_label(answer.gpu) for answer in shown if answer.found.source != "measured"]
    said = []
    if measured and simulated:
        said.append(
            f"a measured figure stands against a simulated one: {', '.join(measured)} measured, "
            f"{', '.join(simulated)} simulated; --throughput simulated puts all on the model's figures"
        )
    if by_model is not None and by_model.names != ranking.names:
        order = ", ".join(map(gpu_label, by_model.names))
        said.append(f"on the model's figures alone the order would be {order}")
    return said


def _differences(shown: Sequence[CompareAnswer]) -> list[str]:
    """Say in what the deployments differ beside the accelerator."""
    named = {
        "engines": {gpu_label(answer.gpu): answer.found.engine for answer in shown},
        "weights": {gpu_label(answer.gpu): answer.fit.weight_format for answer in shown},
        "KV dtypes": {gpu_label(answer.gpu): answer.fit.memory.deployment.kv_dtype for answer in shown},
        "numbers of GPUs": {gpu_label(answer.gpu): str(answer.gpus) for answer in shown},
    }
    return [
        f"{what} differ: {', '.join(f'{gpu} {value}' for gpu, value in values.items())}"
        for what, values in named.items()
        if len(set(values.values())) > 1
    ]
