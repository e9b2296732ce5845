"""From a fit and what the user adds to a launch: names looked up, everything checked."""

from __future__ import annotations

from planner.catalogue import Catalogue, Gpu, Model
from planner.catalogue.stacks import parse_version
from planner.errors import DoesNotFit, InvalidInput, Unsupported, unknown_name
from planner.memory.built import SameModel, architecture_of
from planner.memory.records import MemoryFit
from planner.memory.setup import engine_name
from planner.scenario import Deployment, Workload
from planner.serving.book import EngineBook, launch_book
from planner.serving.checkpoint import check_loads, checkpoint_of
from planner.serving.launching import Launch, launch_of
from planner.serving.wanted import Draft, Pools, Wanted, check_launch
from planner.serving.words import Shell, checked

FORMS = ("command", "kubernetes", "compose", "json")
HEAD = "HEAD_ADDRESS"
"""Variable that holds the first node's address where the user names none."""


def launch_for(
    *,
    model: Model,
    gpu: Gpu,
    asked: Deployment,
    fit: MemoryFit,
    workload: Workload,
    catalogue: Catalogue,
    form: str = "command",
    checkpoint: str | None = None,
    draft: str | None = None,
    pools: tuple[int, int] | None = None,
    copies: int = 1,
    port: int | None = None,
    image: str | None = None,
    head: str | None = None,
) -> Launch:
    """Return what starts a fitted deployment.

    Parameters
    ----------
    model, gpu : Model, Gpu
        What runs, and on what.
    asked : Deployment
        The deployment with its sizes, everything else as asked.
    fit : MemoryFit
        Its fit.
    workload : Workload
        The load of the fit.
    catalogue : Catalogue
        Where names are looked up.
    form : str
        What it is for, one of `FORMS`.
    checkpoint, image, head : str, optional
        The user's own checkpoint, container image and address of the first node.
    draft : str, optional
        Kind of draft.
    pools : tuple of int, optional
        GPUs that prefill and GPUs that decode.
    copies : int
        Servers, where these are not apart.
    port : int, optional
        Of the server; the engine's usual one by default.

    Returns
    -------
    Launch

    Raises
    ------
    DoesNotFit
        With what ends first, and what would lift it.
    PlannerError
        For what the engine refuses, or what no line is written for.
    """
    name, text = engine_name(asked.engine)
    stack = catalogue.stack(name)
    book = launch_book().engine(stack.id)
    if not fit.fits:
        remedy = f"; {fit.remedies[0]}" if fit.remedies else ""
        raise DoesNotFit(
            f"{model.id} does not fit on {gpu.id} as {fit.deployment.layout}: {fit.binding_limit}{remedy}"
        )
    architecture = architecture_of(SameModel(model))
    check_loads(model, architecture, asked.weight_dtype, stack, book)
    loaded, cast = checkpoint_of(model, architecture, asked.weight_dtype, checkpoint, stack)
    version = text or (stack.versions[-1] if stack.versions else "")
    wanted = Wanted(
        model=model,
        gpu=gpu,
        stack=stack,
        architecture=architecture,
        version=parse_version(version),
        version_text=version,
        asked=asked,
        fit=fit,
        checkpoint=loaded,
        cast=cast,
        draft=_draft(asked, draft, book, catalogue),
        pools=_pools(pools, fit.deployment.gpus),
        port=port or book.port,
        book=book,
    )
    check_launch(wanted, manifest=form)
    _check_draft(wanted)
    return launch_of(
        wanted,
        head=checked("head", head) if head is not None else Shell(f"${HEAD}"),
        image=checked("image", image) if image is not None else None,
        catalogue=catalogue,
        workload=workload,
        copies=copies,
    )


def _draft(asked: Deployment, kind: str | None, book: EngineBook, catalogue: Catalogue) -> Draft | None:
    if not asked.speculative_tokens:
        if kind is not None:
            raise InvalidInput("draft: a kind of draft needs --speculative-tokens")
        return None
    if kind is not None and kind not in book.drafts:
        raise unknown_name("kind of draft", kind, book.drafts)
    kind = kind or ("mtp" if asked.draft_model is None else "draft")
    if asked.draft_model is None:
        return Draft(kind)
    drafter = catalogue.model(asked.draft_model)
    if drafter.hf_repo is None:
        raise InvalidInput(f"draft_model: no repository of {drafter.id} is known")
    return Draft(kind, checked("checkpoint", drafter.hf_repo))


def _check_draft(wanted: Wanted) -> None:
    """Refuse a kind of draft that came with a later version."""
    if wanted.draft is None:
        return
    since = wanted.book.drafts_since.get(wanted.draft.kind)
    if since is not None and wanted.version is not None and wanted.version < (parse_version(since) or ()):
        raise Unsupported(
            f"{wanted.stack.name} {wanted.version_text} is not known to draft by {wanted.draft.kind}: "
            f"version {since} is"
        )


def _pools(pools: tuple[int, int] | None, each: int) -> Pools | None:
    if pools is None:
        return None
    for gpus in pools:
        if gpus % each:
            raise InvalidInput(f"disaggregated: {gpus} GPUs are no whole number of servers of {each} GPUs")
    return Pools(pools[0] // each, pools[1] // each)
