"""Ask what starts a deployment: commands, manifests and the load test that belongs to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from planner.api.arguments import one_of, open_catalogue, pair_of_gpus, path_text, whole
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput
from planner.memory import MemoryFit
from planner.planning.question import Question, question
from planner.planning.sizing import judge
from planner.report.base import Report
from planner.report.launch import LaunchReport
from planner.report.saved import saved_question
from planner.scenario import Workload
from planner.scenario.records import LARGEST_SIZE, Deployment

SIZES = ("tp", "pp", "ep", "dp", "dcp")
LOAD = ("context", "concurrency", "isl", "osl", "request_rate")
MOST_PORT = 65535


@reproducible
def launch(
    *,
    model: str | os.PathLike[str] | Model | None = None,
    gpu: str | Gpu | None = None,
    saved: str | os.PathLike[str] | Report | None = None,
    format: str = "command",
    isl: int | str | None = None,
    osl: int | str | None = None,
    context: int | str | None = None,
    concurrency: int | str | None = None,
    request_rate: float | None = None,
    draft: str | None = None,
    disaggregated: tuple[int, int] | None = None,
    replicas: int | None = None,
    checkpoint: str | None = None,
    image: str | None = None,
    head: str | None = None,
    name: str | None = None,
    hf_secret: str | None = None,
    port: int | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> LaunchReport:
    """Say what starts a deployment, with memory flags from its fit, and how to load-test it.

    The flags are read back as the engine's parser would, and fitted again: the verdict and the KV pool must
    be the same, else nothing is answered.

    Parameters
    ----------
    model, gpu : optional
        As for `fit`, one accelerator; needed without `saved`.
    saved : path or Report, optional
        A report of `fit`, `plan` or `compare`, or its file as JSON or HTML: its model, accelerator, layout
        and load. What is given beside it goes before it.
    format : str
        What `to_text` of the report is: ``command``, ``kubernetes``, ``compose`` or ``json``.
    isl, osl, context, concurrency, request_rate
        The load, as for `predict`. With `isl` and `osl` there is a load test.
    draft : str, optional
        Kind of draft with `speculative_tokens`: ``mtp``, ``eagle3``, ``dspark`` ...
    disaggregated : tuple of int, optional
        GPUs that only prefill and GPUs that decode; the sizes are those of one server.
    replicas : int, optional
        Servers; those of a saved plan, else one.
    checkpoint : str, optional
        Repository, folder or file that the engine loads, where the catalogue names none.
    image : str, optional
        Container image.
    head : str, optional
        Address of the first of several nodes; the variable HEAD_ADDRESS by default.
    name, hf_secret : str, optional
        Names of the Kubernetes objects, and of the Secret whose key HF_TOKEN holds the token.
    port : int, optional
        Of the server.
    catalogue : Catalogue or path, optional
        As for `fit`.
    **options
        Sizes and fields of `planner.scenario.Deployment`, as for `fit`.

    Returns
    -------
    LaunchReport
        The server's command lines or manifest, and the load test that goes with them.

    Raises
    ------
    DoesNotFit
        Where the deployment does not fit, with what would make it fit.
    PlannerError
        For what the engine refuses, and what no line is written for, with the reason.
    """
    from planner.serving.load_test import load_test
    from planner.serving.making import FORMS, launch_for

    one_of("format", format, FORMS)
    book = open_catalogue(catalogue)
    given = {
        "model": model,
        "gpu": gpu,
        "isl": isl,
        "osl": osl,
        "context": context,
        "concurrency": concurrency,
    }
    stated = {**given, "request_rate": request_rate, "draft": draft, **options}
    named = saved if saved is None or isinstance(saved, Report) else path_text("saved", saved)
    held = {} if named is None else saved_question(named, gpu, book, own_model=model is not None)
    if replicas is not None and disaggregated is not None:
        raise InvalidInput("replicas: the servers of each pool follow from disaggregated; leave it out")
    copies = whole("replicas", replicas, LARGEST_SIZE) or held.pop("replicas", 1)
    held.pop("replicas", None)
    asked_for = _over(held, {key: value for key, value in stated.items() if value is not None})
    if asked_for.get("model") is None or asked_for.get("gpu") is None:
        raise InvalidInput("launch: a model and a GPU are needed, or a saved report")
    kind = asked_for.pop("draft", None)
    asked = question(
        model=asked_for.pop("model"),
        gpu=asked_for.pop("gpu"),
        load={key: asked_for.pop(key) for key in LOAD if key in asked_for},
        options=asked_for,
        catalogue=book,
    )
    if len(asked.gpus) > 1:
        raise InvalidInput("gpu: a launch is for one accelerator type; name one")
    (card,) = asked.gpus
    fit = _fit(asked, card)
    sizes = {key: getattr(fit.deployment, key) for key in SIZES}
    made = launch_for(
        model=asked.model,
        gpu=card,
        asked=asked.base.model_copy(update=sizes),
        fit=fit,
        workload=asked.workload,
        catalogue=book,
        form=format,
        checkpoint=checkpoint,
        draft=kind,
        pools=pair_of_gpus("disaggregated", disaggregated),
        copies=copies,
        port=whole("port", port, MOST_PORT),
        image=image,
        head=head,
    )
    return LaunchReport(made, load_test(made, asked.workload), format, name, hf_secret)


def _fit(asked: Question, card: Gpu) -> MemoryFit:
    """Return the fit of a launch: one with slots gets all that fit, where a rate is stated."""

    def found(workload: Workload) -> MemoryFit:
        return judge(
            model=asked.model,
            gpu=card,
            base=asked.base,
            sizes=asked.sizes,
            workload=workload,
            catalogue=asked.catalogue,
        ).memory

    load = asked.workload
    fit = found(load)
    if not fit.pool.most_slots or load.request_rate is None or load.concurrency is not None:
        return fit
    return found(load.model_copy(update={"concurrency": fit.pool.most_slots, "request_rate": None}))


def _over(held: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a saved question with what was given beside it.

    Given sizes replace all of its sizes; an option at its default is what was not given.
    """
    sizes = (*SIZES, "gpus")
    plain = {name: field.default for name, field in Deployment.model_fields.items() if name not in sizes}
    stated = {k: v for k, v in given.items() if not (k in held and k in plain and v == plain[k])}
    kept = {k: v for k, v in held.items() if k not in sizes or not any(size in stated for size in sizes)}
    return {**kept, **stated}
