"""What an engine and an accelerator do with the formats of a model: run, expand, or refuse them.

Units that a GPU lacks cost no memory: weight-only kernels read the small format and multiply in 16 bits. So a
model may fit and yet be no faster than in 16 bits, which an answer has to say. The rules are data: the
`platforms:` of an engine and the `kernels:` of `data/stacks.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.architecture import Architecture
from planner.architecture.formats import Format
from planner.architecture.mixing import Mixing
from planner.architecture.quantisation import WeightScheme
from planner.catalogue import Catalogue, Gpu
from planner.catalogue.kernels import KernelRule, pick_rule
from planner.catalogue.stacks import Stack, Version
from planner.errors import IllegalDeployment, Unsupported
from planner.scenario.engine_formats import check_formats
from planner.scenario.gguf import gguf_warnings
from planner.scenario.records import Deployment
from planner.scenario.weight_blocks import block_warnings, broken_blocks

SOFTWARE_FORMATS = ("llama.cpp", "mlc-llm", "exllamav2")
"""Engines that expand every format in their own kernels, whatever units there are."""

SIXTEEN_BITS = ("bf16", "fp16")
ASKED_BF16 = ("bf16", "bfloat16")


def unit_format(fmt: str) -> str | None:
    """Return the number format that matrix units need for a stored format, or None where any will do.

    Parameters
    ----------
    fmt : str
        Such as ``fp8-block128``, ``mxfp4`` or ``int4-g32``.

    Returns
    -------
    str or None
        ``fp8``, ``mxfp4``, ``int8``, ``fp16`` ...; None for weights that are stored small and always
        multiplied in 16 bits.
    """
    if fmt.startswith("fp8"):
        return "fp8"
    if fmt.startswith("int8"):
        return "int8"
    return {"mxfp8": "mxfp8", "mxfp4": "mxfp4", "nvfp4": "nvfp4", "bf16": "bf16", "f16": "fp16"}.get(fmt)


def has_units(gpu: Gpu, fmt: str) -> bool:
    """Return whether an accelerator multiplies in a stored format.

    Parameters
    ----------
    gpu : Gpu
        The accelerator; one whose formats nobody states is taken to have all.
    fmt : str
        A weight format or KV dtype.

    Returns
    -------
    bool
    """
    needed = unit_format(fmt)
    if needed is None or not gpu.formats:
        return True
    return gpu.supports(needed) or f"{needed}_fnuz" in gpu.formats


def support_warnings(
    *,
    catalogue: Catalogue,
    architecture: Architecture,
    scheme: WeightScheme,
    deployment: Deployment,
    kv_dtype: str,
    gpu: Gpu,
    stack: Stack,
    version: Version | None,
    model: str,
) -> list[str]:
    """Return what the engine does with formats that the accelerator lacks, and where it may not run at all.

    Parameters
    ----------
    catalogue : Catalogue
        With the kernel rules.
    architecture : Architecture
        The model's blocks.
    scheme : WeightScheme
        Formats of its weights.
    deployment : Deployment
        As asked.
    kv_dtype : str
        Dtype of the cache.
    gpu : Gpu
        The accelerator.
    stack : Stack
        The engine.
    version : tuple of int or None
        Its version; None is the newest.
    model : str
        Id of the model, for kernels of its own.

    Returns
    -------
    list of str
        Each with what happens and what avoids it.

    Raises
    ------
    Unsupported
        Where the engine does not run on the accelerator, or not with these formats.
    IllegalDeployment
        Where it stops for these sizes.
    """
    found = [*_platform(stack, gpu), *gguf_warnings(stack, scheme.name, architecture)]
    formats = _matrix_formats(architecture, scheme)
    check_formats(stack, scheme.name, [fmt.name for _, fmt in formats])
    if stack.id in SOFTWARE_FORMATS:
        return found
    rules: list[KernelRule] = []
    lacking = [(kind, fmt) for kind, fmt in formats if not has_units(gpu, fmt.name)]
    latent = any(mixing.kind == "mla" for mixing in _mixings(architecture))
    broken = list(broken_blocks(architecture, scheme, deployment))
    if lacking or latent or broken:
        rules = catalogue.kernel_rules()
    if broken:
        found += block_warnings(
            rules=rules,
            broken=broken,
            architecture=architecture,
            scheme=scheme,
            deployment=deployment,
            gpu=gpu,
            stack=stack,
            version=version,
            model=model,
        )
    for fmt in dict.fromkeys(fmt.name for _, fmt in lacking):
        kinds = [kind for kind, other in lacking if other.name == fmt]
        if fmt in SIXTEEN_BITS or unit_format(fmt) == "fp16":
            found += _bf16(deployment, gpu, stack)
        else:
            found.append(_weights(rules, kinds, fmt, gpu, stack, version, model))
    _refuse_heads(rules, architecture, deployment, kv_dtype, gpu, stack, version, model)
    return [*found, *_cache(deployment, kv_dtype, gpu, stack)]


def _platform(stack: Stack, gpu: Gpu) -> list[str]:
    """Return what is to be said about the engine on this accelerator; raise where it does not run."""
    platform = stack.platform(gpu)
    if platform is None:
        vendor = gpu.vendor
        if not stack.platforms or vendor == "not stated":
            return []
        return [
            f"{stack.name} is not known to run on {gpu.id} ({vendor}): its memory rules are assumed to hold"
        ]
    if platform.support == "none":
        raise Unsupported(f"{stack.name} does not run on {gpu.id}: {platform.why} ({platform.provenance()})")
    if platform.support == "plugin":
        return [
            f"{stack.name} runs on {gpu.id} through {platform.why}, which has memory rules of its own: "
            "overheads and the KV pool are those of the engine on NVIDIA GPUs"
        ]
    return []


def _matrix_formats(architecture: Architecture, scheme: WeightScheme) -> list[tuple[str, Format]]:
    """Return the formats of the matrices with the kind of their products."""
    found: dict[tuple[str, str], Format] = {}
    for tensor, _ in architecture.counted_tensors():
        if tensor.cols > 1 and tensor.multiplied and tensor.fixed_format is None:
            fmt = scheme.format_of(tensor)
            found.setdefault(("moe_gemm" if tensor.expert else "gemm", fmt.name), fmt)
    return [(kind, fmt) for (kind, _), fmt in found.items()]


def _weights(
    rules: Iterable[KernelRule],
    kinds: Iterable[str],
    fmt: str,
    gpu: Gpu,
    stack: Stack,
    version: Version | None,
    model: str,
) -> str:
    units = (unit_format(fmt) or fmt).upper()
    for kind in kinds:
        rule = pick_rule(
            rules, engine=stack.id, version=version, gpu=gpu, kind=kind, weight_format=fmt, model=model
        )
        if rule is None:
            continue
        if rule.refused:
            raise Unsupported(
                f"{stack.name} does not run {fmt} weights on {gpu.id}: {rule.why}; {rule.remedy} "
                f"({rule.provenance()})"
            )
        reached = "no compute" if rule.compute in SIXTEEN_BITS else f"compute is that of {rule.compute}"
        saved = f"memory is saved, but {reached}"
        remedy = f"; better: {rule.remedy}" if rule.remedy else ""
        return f"{fmt} weights on {gpu.id} run as {rule.kernel}: {rule.why}, so {saved}{remedy}"
    return (
        f"{gpu.id} has no {units} units: {fmt} weights can only be expanded to 16 bits in the kernel, which "
        f"saves memory but no compute; whether {stack.name} has such a kernel is not known"
    )


def _bf16(deployment: Deployment, gpu: Gpu, stack: Stack) -> list[str]:
    if (deployment.weight_dtype or "").lower() in ASKED_BF16:
        raise Unsupported(
            f"{gpu.id} has no BF16 units, and {stack.name} refuses weights in BF16 there; ask for fp16"
        )
    return [
        f"{gpu.id} has no BF16 units: BF16 weights are cast to FP16 when they are loaded (old versions want "
        "--dtype half), which overflows in some models"
    ]


def _cache(deployment: Deployment, kv_dtype: str, gpu: Gpu, stack: Stack) -> Iterator[str]:
    base = "fp8" if kv_dtype.startswith("fp8") else kv_dtype
    if has_units(gpu, base):
        return
    if base == "bf16":
        if deployment.kv_dtype.lower() in ASKED_BF16:
            raise Unsupported(f"{gpu.id} has no BF16 units for a BF16 KV cache; ask for f16 or leave it out")
        return
    if base == "nvfp4":
        raise Unsupported(f"{stack.name} keeps an NVFP4 KV cache only on GPUs with NVFP4 units; ask for fp8")
    yield (
        f"{gpu.id} has no {base.upper()} units: the KV cache is expanded to 16 bits when it is read, which "
        "saves memory but no time, and some attention kernels refuse it (FlashAttention 2 does); a cache in "
        "16 bits runs everywhere"
    )


def _mixings(architecture: Architecture) -> Iterator[Mixing]:
    for layer in architecture.layer_kinds():
        yield from layer.mixings()


def _refuse_heads(
    rules: list[KernelRule],
    architecture: Architecture,
    deployment: Deployment,
    kv_dtype: str,
    gpu: Gpu,
    stack: Stack,
    version: Version | None,
    model: str,
) -> None:
    """Raise where a kernel stops for the heads of a rank or the dtype of the cache."""
    kv = "fp8" if kv_dtype.startswith("fp8") else kv_dtype
    for mixing in dict.fromkeys(_mixings(architecture)) if rules else ():
        kind = "dsa" if mixing.kind == "mla" and mixing.top_k is not None else mixing.kind
        heads = mixing.rank_heads(deployment.tp)
        for phase in ("prefill", "decode"):
            rule = pick_rule(
                rules,
                engine=stack.id,
                version=version,
                gpu=gpu,
                kind=kind,
                phase=phase,
                heads=heads,
                head_dim=mixing.key_dim,
                kv_dtype=kv,
                model=model,
            )
            if rule is not None and rule.refused:
                raise IllegalDeployment(
                    f"TP {deployment.tp} leaves {heads} heads on a GPU, for which {stack.name} stops on "
                    f"{gpu.id}: {rule.why}; {rule.remedy} ({rule.provenance()})"
                )
