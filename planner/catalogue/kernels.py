"""The record of one kernel rule: which kernel an engine runs for a shape on a GPU, and what that costs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from planner.catalogue.figures import Confidence, Date, Record, Source, Tuple, resolve_source
from planner.catalogue.gpu import Gpu
from planner.catalogue.stacks import Version, parse_version

Family = Literal[
    "attention backends", "MLA heads", "head sizes", "chosen backends", "FP8", "FP8 blocks", "FP4"
]
"""What a rule is about; the tables of `docs/kernels.md` follow it."""

Kind = Literal[
    "gqa", "mla", "dsa", "cross", "index", "shared_vector", "compress", "gdn", "kda", "lightning", "mamba2",
    "conv", "gemm", "moe_gemm", "lm_head",
]  # fmt: skip
"""Kinds of mixing (``dsa`` is MLA over the entries that an indexer picked) and kinds of matrix products."""

Phase = Literal["prefill", "decode", "both"]

_RANGE = re.compile(r"\s*(>=|<)\s*(\d+(?:\.\d+)*)\s*")
ANY_VERSION = "*"


def _read_range(value: Any) -> Any:
    text = str(value)
    if text != ANY_VERSION and not all(_RANGE.fullmatch(part) for part in text.split(",")):
        raise ValueError(
            f"{text!r} is not a range of versions; write it like '>=0.18, <0.29', or '*' for all"
        )
    return text


VersionRange = Annotated[str, BeforeValidator(_read_range)]


def in_range(version: Version | None, versions: str) -> bool:
    """Return whether a version lies in a range.

    Parameters
    ----------
    version : tuple of int or None
        None is the newest: it lies in every range that has no upper end.
    versions : str
        Such as ``>=0.18, <0.29``; ``*`` is all.

    Returns
    -------
    bool
    """
    if versions == ANY_VERSION:
        return True
    for part in versions.split(","):
        match = _RANGE.fullmatch(part)
        assert match is not None
        bound = parse_version(match[2])
        assert bound is not None
        if match[1] == ">=" and version is not None and version < bound:
            return False
        if match[1] == "<" and (version is None or version >= bound):
            return False
    return True


class Numbers(Record):
    """A condition on a whole number; all that is stated must hold."""

    any_of: tuple[int, ...] = Tuple
    none_of: tuple[int, ...] = Tuple
    multiple_of: int | None = Field(default=None, gt=0)
    not_multiple_of: int | None = Field(default=None, gt=0)
    at_least: int | None = None
    at_most: int | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Numbers:
        if not self.model_fields_set:
            raise ValueError("an empty condition; give any_of, none_of, multiple_of, at_least or at_most")
        return self

    def holds(self, number: int | None) -> bool:
        """Return whether a number meets the condition; an unknown one does not."""
        return (
            number is not None
            and (not self.any_of or number in self.any_of)
            and number not in self.none_of
            and (self.multiple_of is None or number % self.multiple_of == 0)
            and (self.not_multiple_of is None or number % self.not_multiple_of != 0)
            and (self.at_least is None or number >= self.at_least)
            and (self.at_most is None or number <= self.at_most)
        )


class When(Record):
    """The conditions of a rule on shape, formats and model; all that is stated must hold."""

    heads: Numbers | None = None
    """Query heads of a rank."""
    head_dim: Numbers | None = None
    """Width of a key."""
    width: Numbers | None = None
    """The side of a matrix that ranks divide, on one rank: an expert's intermediate size, for one."""
    weight_formats: tuple[str, ...] = Tuple
    kv_dtypes: tuple[str, ...] = Tuple
    models: tuple[str, ...] = Tuple
    """Ids of the models whose own code takes this path."""


class Slowdown(Record):
    """How many times longer something takes, against the fast kernel."""

    low: float = Field(ge=1)
    mid: float = Field(ge=1)
    high: float = Field(ge=1)
    of: Literal["operator", "step"]
    """``operator``: the kernel alone was compared. ``step``: whole steps or throughput were."""

    @model_validator(mode="after")
    def _in_order(self) -> Slowdown:
        if not self.low <= self.mid <= self.high:
            raise ValueError(f"low {self.low}, mid {self.mid} and high {self.high} are not in order")
        return self


class KernelRule(Record):
    """One rule of kernel coverage, with its source."""

    id: str
    family: Family
    kernel: str
    """The kernel that serves the case, as the engine names it."""
    engines: dict[str, VersionRange] = Field(default_factory=dict)
    """Engines by id with their range of versions; empty for every engine."""
    vendor: Literal["amd", "nvidia", "intel"] | None = None
    isa: tuple[str, ...] = Tuple
    gpus: tuple[str, ...] = Tuple
    kinds: Annotated[tuple[Kind, ...], Field(strict=False, min_length=1)]
    phase: Phase = "both"
    backend: str | None = None
    """Set where the rule is about a backend that the user chose; None where the engine chooses."""
    when: When = When()
    compute: str | None = None
    """Dtype of the arithmetic that really runs; None where it is that of the format."""
    storage: str | None = None
    """Format that the weights are brought into when they are loaded, where it differs."""
    pad_heads_to: tuple[int, ...] = Tuple
    """Head counts that the kernel has; a rank's heads are padded to the next one."""
    pad_heads_multiple: int | None = Field(default=None, gt=1)
    """The same where any multiple will do."""
    slowdown: Slowdown | None = None
    refused: bool = False
    """Whether the engine stops instead."""
    why: str
    remedy: str | None = None
    source: Source
    also: tuple[str, ...] = Tuple
    """Further sources, as addresses."""
    date: Date
    confidence: Confidence = "published"

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or isinstance(data.get("source"), Source):
            return data
        return resolve_source(data, info)

    @model_validator(mode="after")
    def _agrees(self) -> KernelRule:
        if self.pad_heads_to and self.pad_heads_multiple:
            raise ValueError("give pad_heads_to or pad_heads_multiple, not both")
        if self.pad_heads_to != tuple(sorted(self.pad_heads_to)):
            raise ValueError("pad_heads_to must rise")
        if self.refused and (self.slowdown or self.pad_heads_to or self.pad_heads_multiple):
            raise ValueError("what is refused has no slowdown and no padding")
        if (self.refused or self.slowdown) and not self.remedy:
            raise ValueError("what is refused or slow needs a `remedy`")
        return self

    @property
    def specificity(self) -> int:
        """Return how much a rule states; of the rules that match, the highest wins.

        Named GPUs count 3, an instruction set 2, a vendor 1; an engine 1 and a bound of its versions 1; a
        phase, a chosen backend and every condition 1 each; named models 3.
        """
        scope = 3 if self.gpus else 2 if self.isa else 1 if self.vendor else 0
        engine = bool(self.engines) + any(versions != ANY_VERSION for versions in self.engines.values())
        conditions = len(self.when.model_fields_set) + 2 * bool(self.when.models)
        return scope + engine + (self.phase != "both") + (self.backend is not None) + conditions

    def serves_engine(self, engine: str, version: Version | None) -> bool:
        """Return whether it is about this engine in this version (None is the newest)."""
        return not self.engines or (engine in self.engines and in_range(version, self.engines[engine]))

    def serves_gpu(self, gpu: Gpu) -> bool:
        """Return whether it is about this accelerator."""
        return (
            (self.vendor is None or self.vendor == gpu.vendor.lower())
            and (not self.isa or gpu.isa in self.isa)
            and (not self.gpus or gpu.id in self.gpus)
        )

    def padded_heads(self, heads: int) -> int:
        """Return the heads that the kernel works on for a rank that has `heads`."""
        if self.pad_heads_multiple:
            return -(-heads // self.pad_heads_multiple) * self.pad_heads_multiple
        return next((size for size in self.pad_heads_to if size >= heads), heads)

    def provenance(self) -> str:
        """Return confidence, source and date as one phrase."""
        return f"{self.confidence}: {self.source.title} ({self.date})"


def pick_rule(
    rules: Iterable[KernelRule],
    *,
    engine: str,
    version: Version | None,
    gpu: Gpu,
    kind: str,
    phase: str = "both",
    heads: int | None = None,
    head_dim: int | None = None,
    width: int | None = None,
    weight_format: str | None = None,
    kv_dtype: str | None = None,
    model: str | None = None,
    backend: str | None = None,
) -> KernelRule | None:
    """Return the rule that states most about a case, or None where none matches.

    Parameters
    ----------
    rules : iterable of KernelRule
        In the order of the files; of equals the last counts, and a refusal counts before everything.
    engine : str
        Id of the engine.
    version : tuple of int or None
        Its version; None is the newest.
    gpu : Gpu
        The accelerator.
    kind, phase, backend : str
        What runs, when, and on which attention backend if the user chose one.
    heads, head_dim, width : int, optional
        Query heads of a rank, width of a key, and the side of a matrix that ranks divide.
    weight_format, kv_dtype, model : str, optional
        Formats, and the id of the model. A condition on something that is not given does not hold.

    Returns
    -------
    KernelRule or None
    """
    best: KernelRule | None = None
    for rule in rules:
        when = rule.when
        if (
            kind in rule.kinds
            and rule.phase in ("both", phase)
            and rule.backend == backend
            and rule.serves_engine(engine, version)
            and rule.serves_gpu(gpu)
            and (when.heads is None or when.heads.holds(heads))
            and (when.head_dim is None or when.head_dim.holds(head_dim))
            and (when.width is None or when.width.holds(width))
            and (not when.weight_formats or weight_format in when.weight_formats)
            and (not when.kv_dtypes or kv_dtype in when.kv_dtypes)
            and (not when.models or model in when.models)
            and (best is None or (rule.refused, rule.specificity) >= (best.refused, best.specificity))
        ):
            best = rule
    return best
