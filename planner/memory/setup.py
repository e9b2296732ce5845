"""One deployment with every default of its engine filled in, and why each value is what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from planner.architecture import Architecture
from planner.architecture.caches import Cache, StateCache, TokenCache
from planner.architecture.formats import CACHE_BYTES
from planner.architecture.model import Layer
from planner.architecture.quantisation import WeightScheme
from planner.catalogue import Catalogue, Gpu, Model
from planner.catalogue.stacks import Setting, Stack, Version, is_version, parse_version
from planner.errors import InvalidInput, shorten
from planner.memory.built import SameArchitecture, SameModel, architecture_of, count_caches
from planner.memory.off_gpu import HostSide, leave_on_host, put_on_host
from planner.memory.records import Assumption
from planner.memory.weights import KnownWeights, Tiles, known_weights, split_layers, stage_weights
from planner.memory.widths import Widths, known_widths
from planner.scenario import Deployment, Workload
from planner.scenario.legal import WHOLE_SLOTS
from planner.scenario.offload import offload_plan
from planner.scenario.schemes import checkpoint_kv_dtype, excepted_layers, weight_scheme

HEADS_BY_LAYER = "num_key_value_heads_per_layer"
KV_ALIASES = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16", "float16": "f16", "fp16": "f16"}


@dataclass(slots=True)
class Setup:
    """What the engines' rules read: the records, the model's blocks and the resolved sizes.

    Parameters
    ----------
    model, gpu, stack : Model, Gpu, Stack
        Catalogue records.
    version : tuple of int or None
        Engine version; None is the newest.
    legacy : bool
        Whether the engine's old core runs (vLLM's V0).
    architecture : Architecture
        The model's blocks.
    scheme : WeightScheme
        Formats of its weights.
    deployment : Deployment
        As asked.
    kv_dtype : str
        Dtype of the cache.
    context, request_tokens, concurrency : int
        Longest request the server takes; room and number of the requests asked for.
    stages : list of range
        Layers of each pipeline stage.
    weights : list of Counter
        Weights of each stage by group [bytes].
    tiles : Tiles
        To what the engine's kernels pad experts.
    draft_layers : tuple of Layer
        Layers of a draft that are loaded too: the checkpoint's own, or another model's.
    host_side : HostSide or None
        What the host holds, where not all is on the GPU.
    assumptions, warnings : list
        What was filled in, and what the user should know.
    """

    model: Model
    gpu: Gpu
    stack: Stack
    version: Version | None
    legacy: bool
    architecture: Architecture
    scheme: WeightScheme
    deployment: Deployment
    kv_dtype: str
    context: int
    request_tokens: int
    concurrency: int
    stages: list[range]
    weights: list[Counter[str]]
    tiles: Tiles = field(default_factory=Tiles)
    draft_layers: tuple[Layer, ...] = ()
    host_side: HostSide | None = None
    assumptions: list[Assumption] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _caches: dict[int | None, Counter[Cache]] = field(default_factory=dict)
    _settings: dict[str, Setting] = field(default_factory=dict)

    def setting(self, name: str) -> Setting:
        """Return the engine's value of a named parameter, without noting it as an assumption."""
        if name not in self._settings:
            self._settings[name] = self.stack.setting(name, self.version, self.gpu)
        return self._settings[name]

    def number(self, name: str) -> float:
        """Return a numeric setting."""
        value = self.setting(name).value
        if isinstance(value, str):
            raise InvalidInput(f"stacks: {self.stack.id} setting {name!r} must be a number, not {value!r}")
        return float(value)

    def assume(self, name: str, given: int | float | None, setting: str | None = None) -> float:
        """Return what was given, else the engine's default, which is noted once.

        Parameters
        ----------
        name : str
            Name of the assumption.
        given : number, optional
            What the user asked for.
        setting : str, optional
            Name of the engine's setting, where it differs.

        Returns
        -------
        float
        """
        if given is not None:
            return given
        value = self.number(setting or name)
        found = self.setting(setting or name)
        shown = int(value) if value == int(value) and not isinstance(found.value, bool) else found.value
        self.note(name, shown, "", found.provenance())
        return value

    def note(self, name: str, value: object, unit: str, provenance: str) -> None:
        """Record an assumption, each name once."""
        if all(item.name != name for item in self.assumptions):
            self.assumptions.append(Assumption(name, value, unit, provenance))

    def caches(self, stage: int | None = None) -> Counter[Cache]:
        """Return the caches of one stage, or of all, with how many layers keep each.

        Parameters
        ----------
        stage : int, optional
            Number of the stage; None for the whole model.

        Returns
        -------
        Counter
        """
        if stage not in self._caches:
            layers = self.architecture.layers
            if stage is not None:
                layers = layers[self.stages[stage].start : self.stages[stage].stop]
            if stage is None or stage == len(self.stages) - 1:
                layers = layers + self.draft_layers
            self._caches[stage] = count_caches(layers)
        return self._caches[stage]

    def forget_caches(self) -> None:
        """Count the caches anew, after layers were added."""
        self._caches.clear()

    def step_widths(self) -> Widths:
        """Return the widths of a step on a rank, which are those of every stage."""
        return known_widths(SameArchitecture(self.architecture), self.deployment.sharding)

    def has_states(self) -> bool:
        """Return whether the model keeps recurrent states."""
        return any(isinstance(cache, StateCache) for cache in self.caches())

    def has_index(self) -> bool:
        """Return whether the model keeps index keys for sparse attention."""
        return any(isinstance(cache, TokenCache) and cache.kind == "index" for cache in self.caches())

    def pools_index(self) -> bool:
        """Return whether several tokens share an index key, without their own keys being compressed too."""
        caches = [cache for cache in self.caches() if isinstance(cache, TokenCache)]
        compressed = any(cache.kind == "compressed" for cache in caches)
        return not compressed and any(cache.kind == "index" and cache.stride > 1 for cache in caches)

    def has_experts(self) -> bool:
        """Return whether some layers have routed experts."""
        return any(groups.get("routed_experts") for groups in self.weights)

    def experts_in_fp4(self) -> bool:
        """Return whether routed experts are stored in four-bit floats."""
        return self.has_experts() and self.scheme.by_group.get("routed_experts") in ("mxfp4", "nvfp4")

    def has_windows(self) -> bool:
        """Return whether some layers keep a window only."""
        return any(isinstance(cache, TokenCache) and cache.window is not None for cache in self.caches())

    def kv_heads(self) -> int:
        """Return the KV heads that tensor parallelism can divide, at most; 0 where there are none."""
        caches = [cache for cache in self.caches() if isinstance(cache, TokenCache) and not cache.replicated]
        return max((cache.heads for cache in caches), default=0)

    def has_latents(self) -> bool:
        """Return whether each tensor-parallel rank holds the whole cache of some layers."""
        return any(isinstance(cache, TokenCache) and cache.replicated for cache in self.caches())


def engine_name(engine: str) -> tuple[str, str | None]:
    """Split ``vllm==0.20.2`` into name and version.

    Parameters
    ----------
    engine : str
        As a Deployment has it.

    Returns
    -------
    tuple of str and str or None
    """
    name, _, version = engine.partition("==")
    return name.strip(), version.strip() or None


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
    setup.note("kv_dtype", base, "", "published: the engine takes the dtype of the model")
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


def state_dtypes(setup: Setup) -> dict[str, str]:
    """Return the dtypes of recurrent states that the engine uses instead of the model's own.

    Parameters
    ----------
    setup : Setup
        The deployment with its engine's settings: `state_dtype` always holds, `state_dtype_default` where the
        model's configuration names none.

    Returns
    -------
    dict of str to str
        Dtype by name of the state's tensor.
    """
    kinds = {cache.kind for cache in setup.caches() if isinstance(cache, StateCache)}
    names = ["state_dtype"] if setup.architecture.state_dtype else ["state_dtype_default", "state_dtype"]
    found: dict[str, str] = {}
    for item in (item for name in names for item in setup.stack.settings.get(name, ())):
        where, _, dtype = str(item.value).partition(":")
        kind, _, tensor = where.partition("/")
        if kind in kinds and item.applies(setup.version, setup.gpu):
            found[tensor] = dtype
    return found
