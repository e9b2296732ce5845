"""Ask what throughput, TTFT and TPOT to expect, how sure that is, and what it costs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import answered, open_catalogue, pair_of_gpus
from planner.api.media_door import answers_media
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.planning.question import question
from planner.report.answers import fit_answer

if TYPE_CHECKING:
    from planner.report.prediction import PredictReport


@reproducible
@answers_media
def predict(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    isl: int | str | None = None,
    osl: int | str | None = None,
    concurrency: int | str | None = None,
    request_rate: float | None = None,
    context: int | str | None = None,
    prefix_hit: float = 0.0,
    throughput: str = "auto",
    draft: str | None = None,
    tokens_per_step: float | None = None,
    disaggregated: tuple[int, int] | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> PredictReport:
    """Say what throughput, TTFT and TPOT to expect of a model under a load, how sure that is, and its cost.

    Parameters
    ----------
    model, gpu, context, price, price_kind, catalogue
        As for `fit`.
    isl, osl : int or str
        Input and output of a request [tokens].
    concurrency : int or str, optional
        Requests at once; one where neither this nor a rate is given.
    request_rate : float, optional
        Requests that arrive in a second, instead of a concurrency [1/s].
    prefix_hit : float
        Share of the input that a prefix cache holds, from 0 to below 1.
    throughput : str
        ``auto`` takes what was measured at the operating point where it was, and the model for the rest;
        ``measured`` and ``simulated`` take the one or the other alone. The name of a provider, such as
        ``aiconfigurator``, takes what that says, with the model's figures beside it.
    draft : str, optional
        Kind of draft (``mtp``, ``eagle3``, ``dspark``) where `speculative_tokens` is above 0.
    tokens_per_step : float, optional
        Tokens that a step of speculation yields, where it is known.
    disaggregated : tuple of int, optional
        GPUs that only prefill and GPUs that decode; the sizes are then those of one copy in either pool.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.
    **options
        Sizes (`gpus`, `tp`, `pp`, `ep`, `dp`, `dcp`), and fields of `planner.scenario.Deployment` such as
        `weight_dtype`, `engine` or `speculative_tokens`. Without sizes it is the smallest deployment that
        holds the load.

    Returns
    -------
    PredictReport
        One answer for each accelerator type that can run what was asked; `left_out` says why others cannot.
        Where the model does not fit, or the load cannot be carried, it
        says so and has no figures.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.measurement.operating_point import CHOICES
    from planner.measurement.predicted import Pools, Speculation, predicted
    from planner.performance.providers import provider
    from planner.planning.load import full_load, load_of
    from planner.report.prediction import PredictAnswer, PredictReport

    other = None if throughput in CHOICES else provider(throughput, CHOICES)
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
        catalogue=open_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    shown = load_of(full_load(asked.workload)[0])
    pools = pair_of_gpus("disaggregated", disaggregated)

    def answer(card: Gpu) -> PredictAnswer:
        found = predicted(
            asked,
            card,
            throughput=throughput,
            speculation=Speculation(draft, tokens_per_step),
            pools=None if pools is None else Pools(*pools),
            network_bytes_per_s=network_bytes_per_s,
            provider=other,
        )
        return PredictAnswer(fit_answer(asked, card, found.judgement), found, shown)

    answers, left_out = answered(asked.gpus, answer)
    return PredictReport(tuple(answers.values()), left_out)
