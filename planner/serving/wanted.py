"""What a launch is made of: a fitted deployment, its model and engine, and facts that refusals are about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.architecture import Architecture
from planner.catalogue import Gpu, Model
from planner.catalogue.stacks import Stack, Version
from planner.errors import IllegalDeployment, Unsupported
from planner.memory.records import MemoryFit
from planner.scenario import Deployment
from planner.scenario.legal import can_disaggregate
from planner.serving.book import EngineBook
from planner.serving.recipes import Recipe, recipe_of

PREFILL, DECODE = "prefill", "decode"


@dataclass(frozen=True, slots=True)
class Draft:
    """What drafts tokens.

    Parameters
    ----------
    kind : str
        ``mtp``, ``eagle3``, ``dspark`` ...; ``draft`` is a model of its own.
    checkpoint : str or None
        Repository or path of a draft model; None where the model drafts with layers of its own.
    """

    kind: str
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Pools:
    """Servers that only prefill and servers that decode.

    Parameters
    ----------
    prefill, decode : int
        Servers of each kind, every one a copy of the deployment.
    """

    prefill: int
    decode: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """One deployment that is to be started.

    Parameters
    ----------
    model, gpu, stack : Model, Gpu, Stack
        Catalogue records.
    architecture : Architecture
        The model's blocks.
    version : tuple of int or None
        The engine's version; None is the newest.
    version_text : str
        The same as it is written.
    asked : Deployment
        As asked: what is None there was left to the engine.
    fit : MemoryFit
        The fit, whose deployment has every default in place.
    checkpoint : str
        What the engine loads.
    cast : str or None
        Dtype that a 16-bit checkpoint is loaded in.
    draft : Draft or None
        What drafts, where tokens are drafted.
    pools : Pools or None
        Prefill and decode apart.
    port : int
        Of the server.
    book : EngineBook
        What is known of the engine.
    """

    model: Model
    gpu: Gpu
    stack: Stack
    architecture: Architecture
    version: Version | None
    version_text: str
    asked: Deployment
    fit: MemoryFit
    checkpoint: str
    cast: str | None
    draft: Draft | None
    pools: Pools | None
    port: int
    book: EngineBook

    @property
    def deployment(self) -> Deployment:
        """Return the deployment with every default in place."""
        return self.fit.deployment

    @property
    def recipe(self) -> Recipe:
        """Return what the published recipe of the model says; a GGUF file needs none of it."""
        return Recipe() if self.checkpoint.endswith(".gguf") else recipe_of(self.model.id)

    @property
    def load_flags(self) -> dict[str, str]:
        """Return flags without which the model's own checkpoint is not read."""
        own = self.checkpoint == self.model.hf_repo
        return self.recipe.of(self.stack.id).flags if own else {}

    @property
    def ranks(self) -> int:
        """Return the ranks of one pipeline stage."""
        return self.deployment.tp * self.deployment.dp

    @property
    def nodes(self) -> int:
        """Return the nodes that one copy of the deployment takes."""
        return math.ceil(self.deployment.gpus / self.gpu.node_gpus)

    @property
    def gpus_per_node(self) -> int:
        """Return the GPUs that it uses of each node."""
        return self.deployment.gpus // self.nodes

    @property
    def shares_experts(self) -> bool:
        """Return whether copies of attention share experts, and are not servers of their own."""
        return self.deployment.dp > 1 and has_experts(self.architecture)


def has_experts(architecture: Architecture) -> bool:
    """Return whether a model has routed experts."""
    return any(tensor.expert for tensor, _ in architecture.counted_tensors())


def has_latent(architecture: Architecture) -> bool:
    """Return whether a model has a latent KV cache (MLA)."""
    return any(mixing.kind == "mla" for layer in architecture.layer_kinds() for mixing in layer.mixings())


def facts_of(wanted: Wanted, *, manifest: str = "command") -> dict[str, int]:
    """Return what refusals are about, as numbers; yes is 1.

    Parameters
    ----------
    wanted : Wanted
        The deployment.
    manifest : str
        The form it is asked in, such as "kubernetes".

    Returns
    -------
    dict of str to int
    """
    made, ranks = wanted.deployment, wanted.ranks
    draft = wanted.draft
    return {
        **{name: getattr(made, name) for name in ("tp", "pp", "ep", "dp", "dcp")},
        "ranks": ranks,
        "nodes": wanted.nodes,
        "node_gpus": wanted.gpu.node_gpus,
        "copy_nodes": math.ceil(made.tp * made.pp / wanted.gpus_per_node),
        "drafted": made.speculative_tokens,
        "own_draft": int(draft is not None and draft.checkpoint is None and bool(wanted.architecture.draft)),
        "no_draft": int(draft is not None and draft.checkpoint is None and not wanted.architecture.draft),
        "dense": int(not has_experts(wanted.architecture)),
        "odd_ep": int(made.ep not in (1, ranks)),
        "pools": int(wanted.pools is not None),
        "amd_mla_blocks": int(
            wanted.gpu.vendor.lower() == "amd"
            and wanted.asked.block_size != 1
            and has_latent(wanted.architecture)
        ),
        "text_only": int(made.text_only),
        "partition": int(made.pipeline_layers is not None),
        "kubernetes": int(manifest == "kubernetes"),
        "compose": int(manifest == "compose"),
    }


def check_launch(wanted: Wanted, *, manifest: str = "command") -> None:
    """Refuse what the engine does not run, or what is not written here, with the reason.

    Parameters
    ----------
    wanted : Wanted
        The deployment.
    manifest : str
        The form it is asked in.

    Raises
    ------
    IllegalDeployment
        With every reason.
    Unsupported
        Where the engine does not keep prefill and decode apart, or nodes would not be used evenly.
    """
    if wanted.pools is not None and not can_disaggregate(wanted.stack.id):
        raise Unsupported(f"{wanted.stack.name} has one server: it does not keep prefill and decode apart")
    if wanted.deployment.gpus % wanted.nodes:
        raise IllegalDeployment(
            f"{wanted.deployment.gpus} GPUs do not divide over {wanted.nodes} nodes of "
            f"{wanted.gpu.node_gpus}; legal: a multiple of {wanted.nodes}"
        )
    facts = facts_of(wanted, manifest=manifest)
    reasons = [
        f"{wanted.stack.name}: {rule.why.format(**facts)}"
        for rule in wanted.book.refusals
        if rule.holds(facts, wanted.version)
    ]
    if reasons:
        raise IllegalDeployment("; ".join(reasons))
