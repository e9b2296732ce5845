"""Ask whether a model fits, on how many accelerators, and what limits it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.api.arguments import answered, open_catalogue
from planner.api.media_door import answers_media
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.planning.other_layouts import other_layouts
from planner.planning.question import question
from planner.planning.sizing import Judgement, judge
from planner.report.answers import fit_answer
from planner.report.fit import FitReport

if TYPE_CHECKING:
    from planner.memory import MemoryFit


@reproducible
@answers_media
def fit(
    *,
    model: str | os.PathLike[str] | Model,
    gpu: str | Gpu | Iterable[str | Gpu],
    gpus: int | None = None,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    dp: int | None = None,
    dcp: int | None = None,
    weight_dtype: str | None = None,
    kv_dtype: str = "auto",
    engine: str = "vllm",
    context: int | str | None = None,
    concurrency: int | str | None = None,
    isl: int | str | None = None,
    osl: int | str | None = None,
    memory_fraction: float | None = None,
    max_num_batched_tokens: int | str | None = None,
    max_num_seqs: int | str | None = None,
    speculative_tokens: int = 0,
    text_only: bool = False,
    price: float | Mapping[str, float] | None = None,
    price_kind: str | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> FitReport:
    """Say whether a model fits on one or several accelerator types, on how many, and what limits it.

    Parameters
    ----------
    model : str, path or Model
        Id or alias of the catalogue, path of a `config.json` or its directory, a hub id, or a record.
    gpu : str, Gpu, or several
        Ids or aliases (several with commas or as a list), or records.
    gpus, tp, pp, ep, dp, dcp : int, optional
        GPUs of the deployment and its parallel sizes. Without any of them the smallest deployment that fits
        is looked for. Parallel sizes are judged as they are given, and those left out are 1. `gpus` without
        `tp` or `pp` leaves the layout open: tensor parallelism as wide as a node first, then pipeline
        stages; the first layout that fits is taken.
    weight_dtype : str, optional
        Quantisation of the weights; the checkpoint's own by default.
    kv_dtype : str
        Dtype of the KV cache; "auto" is what the engine picks.
    engine : str
        Engine, with a version (``vllm==0.20.2``) or without.
    context : int or str, optional
        Longest request [tokens]; input and output together where they are given, else the model's maximum.
        It may be written as on the command line, "128k" (x 1,000) or "128Ki" (x 1,024), as may every other
        count of tokens or requests.
    concurrency : int or str, optional
        Requests that must run at once.
    isl, osl : int or str, optional
        Input and output of a request [tokens].
    memory_fraction, max_num_batched_tokens, max_num_seqs, speculative_tokens, text_only
        As `planner.scenario.Deployment` explains them.
    price : float or mapping, optional
        Price of one GPU [USD/h], for all types or by id or alias.
    price_kind : str, optional
        Take prices of this kind from the catalogue where none is given.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.
    **options
        Further fields of `planner.scenario.Deployment`, such as `block_size` or `draft_model`.

    Returns
    -------
    FitReport
        One answer for each accelerator type that can run what was asked; `left_out` says why others cannot.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.measurement.accuracy import memory_accuracy
    from planner.measurement.attention import attention_kind
    from planner.measurement.measured_output import Load, measured_outputs

    asked = question(
        model=model,
        gpu=gpu,
        load={"context": context, "concurrency": concurrency, "isl": isl, "osl": osl},
        options={
            "gpus": gpus,
            "tp": tp,
            "pp": pp,
            "ep": ep,
            "dp": dp,
            "dcp": dcp,
            "weight_dtype": weight_dtype,
            "kv_dtype": kv_dtype,
            "engine": engine,
            "memory_fraction": memory_fraction,
            "max_num_batched_tokens": max_num_batched_tokens,
            "max_num_seqs": max_num_seqs,
            "speculative_tokens": speculative_tokens,
            "text_only": text_only,
            **options,
        },
        catalogue=open_catalogue(catalogue),
        price=price,
        price_kind=price_kind,
    )
    book, base, workload = asked.catalogue, asked.base, asked.workload

    def judged(card: Gpu) -> Judgement:
        return judge(
            model=asked.model, gpu=card, base=base, sizes=asked.sizes, workload=workload, catalogue=book
        )

    found, left_out = answered(asked.gpus, judged)
    cards = [card for card in asked.gpus if card.id in found]
    measured = measured_outputs(
        model=asked.model,
        gpus={card.id: (card, found[card.id].memory.deployment.gpus) for card in cards},
        catalogue=book,
        load=Load(workload.isl, workload.osl, workload.concurrency, base.weight_dtype),
    )
    kind = attention_kind(asked.model)
    others: tuple[MemoryFit, ...] = ()
    if len(cards) == 1:
        card = cards[0]
        others = other_layouts(
            found[card.id].memory, model=asked.model, gpu=card, workload=workload, catalogue=book
        )
    answers = [
        replace(
            fit_answer(asked, card, found[card.id]),
            measured=measured.get(card.id),
            accuracy=memory_accuracy(base.engine.partition("==")[0].strip(), kind),
            others=others,
        )
        for card in cards
    ]
    return FitReport(tuple(answers), left_out)
