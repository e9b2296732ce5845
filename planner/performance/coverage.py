"""Which kernel an engine runs for an operator on a GPU, at what cost, and what would avoid it.

The rules are data (`kernels:` in `data/stacks.yaml`); here the one that states most about a case is picked.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.formats import weight_format as format_of
from planner.catalogue import Catalogue, Gpu
from planner.catalogue.kernels import KernelRule, pick_rule
from planner.catalogue.stacks import Version, parse_version
from planner.errors import UnknownName, Unsupported
from planner.performance.operators import MATRICES, Operator

GENERIC = "generic"
"""Name of the kernel where no rule speaks."""

NO_SLOWDOWN = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The kernel that was assumed for an operator.

    Parameters
    ----------
    name : str
        The kernel as its engine names it; ``generic`` where nothing is known.
    compute_dtype : str
        Dtype of the arithmetic that really runs.
    storage_format : str or None
        Format that weights are brought into when they are loaded, where it is not their own.
    heads, padded_heads : int or None
        Query heads of a rank, and the heads that the kernel works on; None where heads are not asked for.
    slowdown : tuple of float
        Low, middle and high of how many times longer it takes than the fast kernel.
    slowdown_of : str
        ``operator`` where that is about the kernel alone, ``step`` where whole steps were compared.
    refused : bool
        Whether the engine stops instead.
    note : str
        Why this kernel.
    remedy : str or None
        What avoids it.
    source : str
        Confidence, source and date.
    rule : str or None
        Id of the rule in the catalogue.
    """

    name: str
    compute_dtype: str
    storage_format: str | None = None
    heads: int | None = None
    padded_heads: int | None = None
    slowdown: tuple[float, float, float] = NO_SLOWDOWN
    slowdown_of: str = "operator"
    refused: bool = False
    note: str = "no rule for this case"
    remedy: str | None = None
    source: str = "assumed: the fast kernel"
    rule: str | None = None

    @property
    def padding(self) -> float:
        """Return the heads that the kernel works on for each head there is: 1 without padding."""
        if not self.heads or self.padded_heads is None:
            return 1.0
        return self.padded_heads / self.heads

    def check(self) -> None:
        """Raise `Unsupported` where the engine stops."""
        if self.refused:
            raise Unsupported(f"{self.note}; {self.remedy} ({self.source})")


def kernel_for(
    *,
    catalogue: Catalogue,
    engine: str,
    gpu: Gpu,
    kind: str,
    version: str | Version | None = None,
    phase: str = "both",
    heads: int | None = None,
    head_dim: int | None = None,
    width: int | None = None,
    weight_format: str | None = None,
    kv_dtype: str | None = None,
    model: str | None = None,
    backend: str | None = None,
) -> KernelChoice:
    """Return the kernel of one operator; of the rules that match, the one that states most.

    Parameters
    ----------
    catalogue : Catalogue
        With the rules.
    engine : str
        Id or alias of the engine; of one that the catalogue lacks, only rules for every engine match.
    gpu : Gpu
        The accelerator.
    kind : str
        Kind of mixing (``gqa``, ``mla``; ``dsa`` is MLA over picked entries), ``gemm`` or ``moe_gemm``.
    version : str or tuple of int, optional
        Engine version; None is the newest.
    phase : str
        ``prefill`` or ``decode``; ``both`` meets only rules for both.
    heads : int, optional
        Query heads of a rank.
    head_dim : int, optional
        Width of a key.
    width : int, optional
        The side of a matrix that ranks divide, on one rank.
    weight_format, kv_dtype : str, optional
        Formats of the weights and of the cache.
    model : str, optional
        Id of the model, for paths of its own.
    backend : str, optional
        Attention backend that the user chose; None leaves it to the engine.

    Returns
    -------
    KernelChoice
        The generic kernel with a slowdown of 1 where no rule matches. A condition on something that is not
        given does not hold.
    """
    known_engine = _engine_id(catalogue, engine)
    known_version = parse_version(version) if isinstance(version, str) else version
    kv = "fp8" if kv_dtype is not None and kv_dtype.lower().startswith("fp8") else kv_dtype
    best = pick_rule(
        catalogue.kernel_rules(),
        engine=known_engine,
        version=known_version,
        gpu=gpu,
        kind=kind,
        phase=phase,
        heads=heads,
        head_dim=head_dim,
        width=width,
        weight_format=weight_format,
        kv_dtype=kv,
        model=model,
        backend=backend,
    )
    default = _default_compute(gpu, weight_format)
    if best is None:
        return KernelChoice(GENERIC, default, heads=heads, padded_heads=heads)
    return _choice(best, heads, default)


def kernel_of(
    *,
    catalogue: Catalogue,
    engine: str,
    gpu: Gpu,
    operator: Operator,
    phase: str,
    kv_dtype: str,
    version: str | Version | None = None,
    model: str | None = None,
    backend: str | None = None,
) -> KernelChoice:
    """Return the kernel of one operator of a forward pass; see `kernel_for`.

    Parameters
    ----------
    catalogue, engine, gpu, version, model, backend
        As of `kernel_for`.
    operator : Operator
        Its kind, shape and format count.
    phase : str
        ``prefill`` or ``decode``.
    kv_dtype : str
        Dtype of the cache.

    Returns
    -------
    KernelChoice
    """
    mixing = operator.mixing
    if mixing is None:
        is_matrix = operator.kind in MATRICES
        return kernel_for(
            catalogue=catalogue,
            engine=engine,
            gpu=gpu,
            kind=operator.kind,
            version=version,
            phase=phase,
            weight_format=operator.format if is_matrix else None,
            model=model,
        )
    sparse = mixing.kind == "mla" and mixing.top_k is not None
    return kernel_for(
        catalogue=catalogue,
        engine=engine,
        gpu=gpu,
        kind="dsa" if sparse else mixing.kind,
        version=version,
        phase=phase,
        heads=operator.n,
        head_dim=operator.k,
        kv_dtype=kv_dtype,
        model=model,
        backend=backend,
    )


def _choice(rule: KernelRule, heads: int | None, default: str) -> KernelChoice:
    slow = rule.slowdown
    return KernelChoice(
        name=rule.kernel,
        compute_dtype=rule.compute or default,
        storage_format=rule.storage,
        heads=heads,
        padded_heads=None if heads is None else rule.padded_heads(heads),
        slowdown=(slow.low, slow.mid, slow.high) if slow else NO_SLOWDOWN,
        slowdown_of=slow.of if slow else "operator",
        refused=rule.refused,
        note=rule.why,
        remedy=rule.remedy,
        source=rule.provenance(),
        rule=rule.id,
    )


def _engine_id(catalogue: Catalogue, engine: str) -> str:
    try:
        return catalogue.resolve("stacks", engine)
    except UnknownName:
        return engine.lower()


def _default_compute(gpu: Gpu, weight_format: str | None) -> str:
    """Return the format's own arithmetic where the GPU has it, else 16 bits: weights are then expanded."""
    wanted = format_of(weight_format).compute if weight_format else "bf16"
    return next((dtype for dtype in (wanted, "bf16", "fp16") if dtype in gpu.peaks), wanted)
