"""What the engines' rules read of one deployment: its records, blocks, sizes and settings of its engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.architecture import Architecture
from planner.architecture.caches import Cache, StateCache, TokenCache
from planner.architecture.model import Layer
from planner.architecture.quantisation import WeightScheme
from planner.catalogue import Gpu, Model
from planner.catalogue.stacks import Setting, Stack, Version
from planner.errors import InvalidInput
from planner.memory.built import SameArchitecture, count_caches
from planner.memory.off_gpu import HostSide
from planner.memory.records import Assumption
from planner.memory.weights import Tiles
from planner.memory.widths import Widths, known_widths
from planner.scenario import Deployment


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
