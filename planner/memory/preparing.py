"""One deployment with every default of its engine filled in, and why each value is what it is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from planner.architecture.formats import CACHE_BYTES
from planner.catalogue import Catalogue, Gpu, Model
from planner.catalogue.stacks import Stack, Version, is_version, parse_version
from planner.errors import InvalidInput, shorten
from planner.memory.built import SameModel, architecture_of
from planner.memory.off_gpu import leave_on_host, put_on_host
from planner.memory.setup import Setup, engine_name
from planner.memory.weights import KnownWeights, Tiles, known_weights, split_layers, stage_weights
from planner.scenario import Deployment, Workload
from planner.scenario.legal import WHOLE_SLOTS
from planner.scenario.offload import offload_plan
from planner.scenario.schemes import checkpoint_kv_dtype, excepted_layers, weight_scheme
from planner.scenario.support import has_units

HEADS_BY_LAYER = "num_key_value_heads_per_layer"
KV_ALIASES = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16", "float16": "f16", "fp16": "f16"}


def prepare(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    known: KnownWeights | None = None,
) -> Setup:
    """Build the setup that the engines' rules read.

    Parameters
    ----------
    model : Model
        The model.
    gpu : Gpu
        The accelerator.
    deployment : Deployment
        How it runs.
    workload : Workload
        What it carries.
    catalogue : Catalogue
        Where the engine's settings are.
    known : dict, optional
        Weights of deployments of the same model, accelerator and engine, to look up and to add to.

    Returns
    -------
    Setup

    Raises
    ------
    PlannerError
        For an unknown engine, quantisation or KV dtype, and for sizes the model cannot be cut into.
    """
    name, text = engine_name(deployment.engine)
    stack = catalogue.stack(name)
    _check_version(stack, deployment.engine, text)
    version = parse_version(text)
    model = _as_loaded(model, stack, version, gpu)
    architecture = architecture_of(SameModel(model))
    scheme = weight_scheme(model, architecture, deployment.weight_dtype)
    stages = split_layers(len(architecture.layers), deployment.pp, deployment.pipeline_layers)
    plan = offload_plan(deployment, architecture, stack.id)
    if plan.cpu_layers:
        stages = [range(plan.cpu_layers, len(architecture.layers))]
    setup = Setup(
        model=model,
        gpu=gpu,
        stack=stack,
        version=version,
        legacy=False,
        architecture=architecture,
        scheme=scheme,
        deployment=deployment,
        kv_dtype="",
        context=0,
        request_tokens=0,
        concurrency=workload.concurrency or 1,
        stages=stages,
        weights=[],
    )
    _lengths(setup, workload)
    _version(setup, text)
    setup.warnings.extend(_server_warnings(gpu, deployment))
    own_draft = deployment.speculative_tokens > 0 and deployment.draft_model is None
    if own_draft:
        setup.draft_layers = architecture.draft
    setup.kv_dtype = _kv_dtype(setup)
    setup.tiles = Tiles(_tiles(setup, "expert_tile"), _tiles(setup, "expert_stream_tile"))
    setup.weights = known_weights(
        {} if known is None else known,
        deployment.weight_dtype,
        architecture,
        scheme,
        deployment.sharding,
        stages,
        tiles=setup.tiles,
        draft=own_draft,
        towers=not deployment.text_only,
        plain_layers=excepted_layers(model, deployment.weight_dtype),
    )
    leave_on_host(setup)
    setup.host_side = put_on_host(setup, plan, catalogue)
    if deployment.draft_model is not None:
        _load_draft(setup, catalogue.model(deployment.draft_model))
    return setup


def _as_loaded(model: Model, stack: Stack, version: Version | None, gpu: Gpu) -> Model:
    """Return the model as the engine builds it: some give every layer the KV heads of the widest one."""
    heads = model.config.get(HEADS_BY_LAYER)
    uniform = any(
        item.value and item.applies(version, gpu) for item in stack.settings.get("uniform_kv_heads", ())
    )
    if not (uniform and isinstance(heads, list) and heads):
        return model
    return _with_equal_heads(SameModel(model))


@lru_cache(maxsize=16)
def _with_equal_heads(key: SameModel) -> Model:
    """Return the model with the most KV heads of any layer in every layer, the same record each time."""
    heads = key.record.config[HEADS_BY_LAYER]
    config = {**key.record.config, HEADS_BY_LAYER: [max(heads)] * len(heads)}
    return key.record.model_copy(update={"config": config})


def _server_warnings(gpu: Gpu, deployment: Deployment) -> list[str]:
    """Return what the user should know about cards of several devices, and servers of unknown size."""
    found = []
    if gpu.devices > 1:
        cards = -(-deployment.gpus // gpu.devices)
        found.append(
            f"one {gpu.id} card is {gpu.devices} devices, and each runs a rank of its own: GPUs are counted "
            f"in devices, so {deployment.gpus} are {cards} card{'s' if cards > 1 else ''}"
        )
    if gpu.node.gpus is None and deployment.gpus > 1:
        found.append(
            f"node.gpus of {gpu.id} is not given, so servers of {gpu.node_gpus} are assumed; "
            "add it to its entry"
        )
    return found


def _load_draft(setup: Setup, model: Model) -> None:
    """Add a separate draft model to the last stage: its weights, and the caches of its layers."""
    architecture = architecture_of(SameModel(model))
    scheme = weight_scheme(model, architecture)
    whole = [range(len(architecture.layers))]
    sharding = setup.deployment.sharding
    groups = stage_weights(architecture, scheme, sharding, whole, tiles=Tiles(), towers=False)[0]
    setup.weights[-1].update({f"draft_{group}": size for group, size in groups.items()})
    setup.draft_layers = architecture.layers
    setup.forget_caches()


def _lengths(setup: Setup, workload: Workload) -> None:
    longest = setup.model.max_context or setup.architecture.max_context
    lengths = (workload.isl or 0) + (workload.osl or 0)
    if workload.context is not None:
        setup.context = workload.context
    elif lengths:
        setup.context = lengths
        setup.note("context", lengths, "tokens", "assumed: input and output of the requests asked for")
    elif longest is not None:
        setup.context = longest
        setup.note("context", longest, "tokens", "published: the model's maximum")
    else:
        raise InvalidInput(f"{setup.model.id}: its longest context is unknown; give one with --context")
    whole = not lengths or setup.stack.id in WHOLE_SLOTS
    setup.request_tokens = setup.context if whole else min(lengths, setup.context)


def _check_version(stack: Stack, engine: str, text: str | None) -> None:
    """Refuse what is no version, naming the newest that is known."""
    name, separator, _ = engine.partition("==")
    if (separator or text) and not is_version(text or ""):
        newest = stack.versions[-1] if stack.versions else "1.0"
        raise InvalidInput(
            f"engine {shorten(engine)}: {shorten(text or '')} is no version; "
            f"write it like {name.strip()}=={newest}"
        )


def _version(setup: Setup, text: str | None) -> None:
    newest = setup.stack.versions[-1] if setup.stack.versions else ""
    if newest and setup.version is None:
        setup.note("engine_version", newest, "", "assumed: the newest that the catalogue knows")
    elif newest and (setup.version or ()) > (parse_version(newest) or ()):
        why = f"assumed: the rules of the newest that the catalogue knows; {text} is newer"
        setup.note("engine_version", newest, "", why)
    legacy = setup.stack.settings.get("legacy_core")
    if legacy:
        setup.legacy = bool(setup.setting("legacy_core").value)
    if text and text.lower().endswith("+v0"):
        setup.legacy = True


def _kv_dtype(setup: Setup) -> str:
    asked = setup.deployment.kv_dtype.lower()
    asked = KV_ALIASES.get(asked, asked)
    if asked != "auto":
        if asked not in CACHE_BYTES and asked != "fp8_ds_mla":
            known = ", ".join(["auto", *CACHE_BYTES, "fp8_ds_mla"])
            raise InvalidInput(f"kv dtype {shorten(setup.deployment.kv_dtype)} is unknown; one of: {known}")
        return _packed_name(setup, asked)
    wanted = checkpoint_kv_dtype(setup.model, setup.deployment.weight_dtype)
    if wanted is not None:
        setup.note("kv_dtype", wanted, "", "published: the quantised checkpoint asks for it")
        return _packed_name(setup, wanted)
    base = setup.scheme.default if setup.scheme.default in ("bf16", "f16", "f32") else "bf16"
    why = "published: the engine takes the dtype of the model"
    if base == "bf16" and not has_units(setup.gpu, base):
        base, why = "f16", f"{why}, in FP16 where a GPU has no BF16 units"
    setup.note("kv_dtype", base, "", why)
    return base


def _packed_name(setup: Setup, kv_dtype: str) -> str:
    """Return the packed layout that the engine uses for FP8 latents of sparse attention, where it does."""
    if kv_dtype != "fp8" or not setup.has_index() or "sparse_fp8_layout" not in setup.stack.settings:
        return kv_dtype
    return str(setup.setting("sparse_fp8_layout").value)


def _tiles(setup: Setup, name: str) -> Mapping[str, int]:
    """Return for each weight format the multiple that a setting pads experts to."""
    tiles: dict[str, int] = {}
    for item in setup.stack.settings.get(name, ()):
        if item.applies(setup.version, setup.gpu):
            fmt, _, width = str(item.value).partition(":")
            tiles[fmt] = int(width)
    return tiles
