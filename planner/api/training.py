"""Ask how fast a model trains, what memory it takes and what it costs; and what products reach by stack."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import answered, one_of, open_catalogue
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput, shorten, unknown_name
from planner.planning.question import chosen_model, gpu_records, prices_of
from planner.units import parse_count

if TYPE_CHECKING:
    from planner.report.achieved import AchievedReport
    from planner.report.training import TrainReport

COUNTED = ("tokens", "seq_len", "global_batch", "micro_batch")
"""What may be written as on the command line: "1T" or "4Ki"."""

LEAST_DAYS, MOST_DAYS = 0.001, 36_500


@reproducible
def train(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    gpus: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    dp: int | None = None,
    fsdp: int | None = None,
    micro_batch: int | str | None = None,
    global_batch: int | str | None = None,
    seq_len: int | str | None = None,
    interleave: int | None = None,
    recompute: str | None = None,
    dtype: str = "bf16",
    method: str = "full",
    lora_rank: int | None = None,
    lora_targets: str | None = None,
    tokens: int | str | None = None,
    days: float | None = None,
    stack: str = "stable",
    as_of: str | None = None,
    network_bytes_per_s: float | None = None,
    availability: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> TrainReport:
    """Say how fast a dense model trains on one or several accelerator types, in what memory and at what cost.

    Parameters
    ----------
    model, gpu, price, price_kind, catalogue
        As for `fit`; models with experts are refused.
    gpus : int, optional
        GPUs of the run; what the sizes make, or the fewest that hold it, by default.
    tp, pp, dp, fsdp, interleave : int, optional
        Tensor-parallel size, pipeline stages, copies, what copies share (ZeRO 0 to 3) and parts of the model
        on each stage. What is not given is searched for the fastest layout that fits.
    micro_batch, global_batch : int or str, optional
        Sequences that a copy works on at once, and those of a step; searched, and 4 Mi tokens (512 Ki with
        adapters), by default.
    seq_len : int or str, optional
        Tokens of a sequence; 4,096 or the model's maximum by default.
    recompute : str, optional
        ``none``, ``selective`` (the core of attention) or ``full`` (whole layers).
    dtype : str
        ``bf16``, or ``fp8`` for the products of the layers.
    method : str
        ``full``, ``lora`` or ``qlora``.
    lora_rank, lora_targets
        Width of adapters (16), and which matrices get one: ``attention``, ``mlp``, ``all`` or names.
    tokens : int or str, optional
        Tokens of the whole training, such as "1T".
    days : float, optional
        How long that may take, instead of `gpus`: the fewest GPUs that do it, in whole nodes, are found.
    stack, as_of : str
        Rates of the newest ``stable`` release, or of makers' ``development`` builds too, known at this date.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.
    availability : float, optional
        Share of the paid time in which the run makes progress.
    **options
        `attention` (``flash``, ``unfused``), `sequence_parallel`, `dropout` and `gradient_bytes` (2 or 4) of
        `planner.scenario.training.TrainingRun`, and `planner.economics.OWNING_ARGUMENTS`.

    Returns
    -------
    TrainReport
        One answer for each accelerator type that can run what was asked; `left_out` says why others cannot.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.economics import OWN, OWNING_ARGUMENTS, PURCHASE, terms_given
    from planner.performance.training_rates import STACKS, achieved_rows
    from planner.planning.training import trained
    from planner.report.training import TrainAnswer, TrainReport
    from planner.scenario.training import TrainingRun

    book = open_catalogue(catalogue)
    chosen, cards = chosen_model(model, book).model, gpu_records(gpu, book)
    fields = {
        "tp": tp,
        "pp": pp,
        "dp": dp,
        "fsdp": fsdp,
        "micro_batch": _count("micro_batch", micro_batch),
        "global_batch": _count("global_batch", global_batch),
        "seq_len": _count("seq_len", seq_len),
        "interleave": interleave,
        "recompute": recompute,
        "dtype": dtype,
        "method": method,
        "lora_rank": lora_rank,
        "lora_targets": lora_targets,
        **{name: value for name, value in options.items() if name not in OWNING_ARGUMENTS},
    }
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        if name not in TrainingRun.model_fields:
            raise unknown_name("argument", name, [*TrainingRun.model_fields, *OWNING_ARGUMENTS])
    TrainingRun(**given)  # says in one line what cannot be, whichever accelerator is asked
    word = one_of("stack", stack, STACKS)
    total, wanted = _whole("gpus", gpus), _whole("tokens", _count("tokens", tokens))
    limit = _days(days, total, wanted, given)
    terms = terms_given(options)
    bought = any(options.get(name) is not None for name in ("purchase", "hours_a_day"))
    if price_kind not in (OWN, PURCHASE) and not bought:
        terms.pop("kw_per_gpu", None)  # it gives the energy of a rented one too
    prices, unpriced = prices_of(cards, price, price_kind, book, terms)

    def answer(card: Gpu) -> TrainAnswer:
        found = trained(
            model=chosen,
            gpu=card,
            catalogue=book,
            given=given,
            gpus=total,
            tokens=wanted,
            days=limit,
            stack="development" if word == "development" else "stable",
            as_of=as_of,
            network_bytes_per_s=network_bytes_per_s,
            price=prices.get(card.id),
            no_price=unpriced.get(card.id),
            kw_per_gpu=_own_power(options.get("kw"), card, book),
            availability=availability,
        )
        known = tuple(rate for rate in achieved_rows(book, card) if rate.dtype in found.rates)
        return TrainAnswer(chosen.id, chosen.name, chosen.config_status, found, known, book.digest)

    answers, left_out = answered(cards, answer)
    return TrainReport(tuple(answers.values()), left_out)


@reproducible
def achieved(
    *,
    gpu: str | Gpu | Iterable[str | Gpu] | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
) -> AchievedReport:
    """Say what matrix products reach beside the datasheet, by stack and date.

    Parameters
    ----------
    gpu : str, Gpu, or several, optional
        Ids or aliases (several with commas or as a list), or records; by default all that are measured.
    catalogue : Catalogue or path, optional
        An open catalogue, or your own file over the shipped one.

    Returns
    -------
    AchievedReport

    Raises
    ------
    PlannerError
        For unknown names, and where nothing is known of any of them.
    """
    from planner.performance.training_rates import achieved_rows
    from planner.report.achieved import AchievedReport

    book = open_catalogue(catalogue)
    cards = book.gpus() if gpu is None else gpu_records(gpu, book)
    rates = tuple(rate for card in cards for rate in achieved_rows(book, card))
    if not rates:
        names = ", ".join(card.id for card in cards)
        raise InvalidInput(
            f"gpu: nobody published what products reach on {names}; `planner train --achieved`"
        )
    return AchievedReport(rates)


def _count(name: str, value: int | str | None) -> int | None:
    if not isinstance(value, str):
        return value
    try:
        return parse_count(value)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def _whole(name: str, value: int | None) -> int | None:
    if value is not None and (type(value) is not int or value < 1):
        raise InvalidInput(f"{name}: {shorten(value)} is no whole number above 0")
    return value


def _days(days: float | None, gpus: int | None, tokens: int | None, given: Mapping[str, Any]) -> float | None:
    """Return how long a training may take [days], or refuse a time that cannot be."""
    if days is None:
        return None
    if isinstance(days, bool) or not isinstance(days, int | float) or not LEAST_DAYS <= days <= MOST_DAYS:
        raise InvalidInput(f"days: {shorten(days)} is no number from {LEAST_DAYS:g} to {MOST_DAYS:,}")
    if tokens is None:
        raise InvalidInput("days: the tokens of the whole training are needed, such as tokens 1T")
    if gpus is not None or all(size in given for size in ("tp", "pp", "dp")):
        raise InvalidInput(
            "days: the GPUs are counted for it, and so gpus, or tp with pp and dp, are not given"
        )
    return days


def _own_power(kw: Any, card: Gpu, book: Catalogue) -> float | None:
    """Return the all-in power that the user states of an accelerator, for all or by id or alias [kW]."""
    if kw is None or isinstance(kw, int | float):
        return kw
    if not isinstance(kw, Mapping):
        raise InvalidInput(f"kw: {shorten(kw)} is no number of kW, nor numbers by accelerator")
    return next((value for name, value in kw.items() if book.gpu(name).id == card.id), None)
