"""What to know of a launch beside its lines: of its fit, of the model's published recipe, of a cluster."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from planner.catalogue.stacks import parse_version
from planner.serving.flags import newest_examined
from planner.serving.kubernetes import base_name, services
from planner.serving.launching import Launch
from planner.serving.wanted import Wanted

ROUTER = "a router must stand in front of the servers; its command is a part of the launch"


def launch_notes(launch: Launch, form: str, name: str | None = None) -> tuple[str, ...]:
    """Return what a user should know of a launch, each thing once.

    Parameters
    ----------
    launch : Launch
        The servers.
    form : str
        What it is asked for as, such as ``command`` or ``kubernetes``.
    name : str, optional
        Of the Kubernetes objects; that of the model by default.

    Returns
    -------
    tuple of str
    """
    wanted = launch.wanted
    found = [*launch.proof.warnings, *_of_fit(wanted), *_of_recipe(wanted)]
    newest = newest_examined(wanted.stack.id)
    if wanted.version is not None and wanted.version > (parse_version(newest) or ()):
        found.append(
            f"{wanted.stack.name} {wanted.version_text} is newer than {newest}, whose flags are the newest "
            "known"
        )
    if launch.image is None and form == "command":
        found.append(f"no image of {wanted.stack.name} {wanted.version_text} for {wanted.gpu.id} is known")
    if wanted.pools is not None:
        found.append(_router(launch, name) if form == "kubernetes" else ROUTER)
    if form == "kubernetes" and wanted.nodes > 1:
        found.append(
            "pods of several nodes talk over the pod network unless they are given a fast one: add your "
            "cluster's RDMA resource and the capability IPC_LOCK to both templates, and a shared volume in "
            "place of model-cache, or each node fetches the model"
        )
    return tuple(dict.fromkeys(found))


def _router(launch: Launch, name: str | None) -> str:
    """Return how the router finds the servers of a manifest, which has none: no image of it is known."""
    text = shlex.join(launch.router())
    for service in services(launch, name):
        variable = service.removeprefix(f"{base_name(launch, name)}-").replace("-", "_").upper()
        text = text.replace(f"'http://${variable}:", f"'http://{service}:")
    return f"a router must stand in front of the servers, in a pod of your own: {text.replace(chr(39), '')}"


def _of_fit(wanted: Wanted) -> Iterator[str]:
    if any(one.name == "context" and "input and output" in one.provenance for one in wanted.fit.assumptions):
        yield (
            f"the longest request is input and output alone, {wanted.fit.context:,} tokens: give --context "
            "to leave room for what a chat template or a client adds"
        )
    if wanted.shares_experts and wanted.stack.id == "sglang":
        yield "SGLang divides dense layers over all ranks; the fit counts one for each copy of attention"


def _of_recipe(wanted: Wanted) -> Iterator[str]:
    """Yield what the published recipe of the model says, and what its flags let the engine do."""
    recipe = wanted.recipe
    said, engine = recipe.of(wanted.stack.id), wanted.stack.name
    if recipe.remote_code and wanted.stack.id != "llama.cpp":
        yield (
            f"{wanted.checkpoint} has code of its own, which the server may run as its recipe says "
            "(trust-remote-code): look at it first, or pin a copy with --checkpoint"
        )
    since = parse_version(said.since) if said.since else None
    if since and wanted.version is not None and wanted.version < since:
        yield (
            f"the recipe of {wanted.model.id} begins at {engine} {said.since}, and this is "
            f"{wanted.version_text}: it may not know the model"
        )
    if said.chat:
        yield f"for tool calls and reasoning in the chat API add {said.chat}"
    if settings := said.settings(wanted.gpu):
        yield (
            f"the recipe of {engine} for {wanted.gpu.vendor} {wanted.gpu.architecture} has, beside this: "
            f"{settings}; its speed and memory were not looked at here"
        )
