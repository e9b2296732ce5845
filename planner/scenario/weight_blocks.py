"""Block-scaled weights cut over ranks: where a share holds broken blocks, and which engines stop there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from planner.architecture import Architecture
from planner.architecture.quantisation import WeightScheme
from planner.architecture.tensors import Split, Tensor
from planner.catalogue import Gpu
from planner.catalogue.kernels import KernelRule, pick_rule
from planner.catalogue.stacks import Stack, Version
from planner.errors import IllegalDeployment
from planner.scenario.records import Deployment


@dataclass(frozen=True, slots=True)
class BrokenBlock:
    """A matrix of which a rank gets no whole number of blocks.

    Parameters
    ----------
    tensor : Tensor
        The matrix.
    share, whole, block : int
        The divided side on one rank and in the model, and the side of a block.
    fmt : str
        Format of the weights.
    """

    tensor: Tensor
    share: int
    whole: int
    block: int
    fmt: str


def broken_blocks(
    architecture: Architecture, scheme: WeightScheme, deployment: Deployment
) -> Iterator[BrokenBlock]:
    """Yield the matrices of which a rank would get broken blocks.

    Parameters
    ----------
    architecture : Architecture
        The model.
    scheme : WeightScheme
        Formats of its weights.
    deployment : Deployment
        The parallel sizes.

    Yields
    ------
    BrokenBlock
    """
    sharding = deployment.sharding
    for tensor, _ in architecture.counted_tensors():
        fmt = scheme.format_of(tensor)
        ways = sharding.expert_tp if tensor.expert else sharding.tp
        if fmt.block_rows <= 1 or ways == 1 or tensor.split not in (Split.COLUMN, Split.ROW):
            continue
        _, rows, cols = tensor.rank_shape(sharding)
        share, whole = (rows, tensor.rows) if tensor.split is Split.COLUMN else (cols, tensor.cols)
        if share % fmt.block_rows and whole % fmt.block_rows == 0:
            yield BrokenBlock(tensor, share, whole, fmt.block_rows, fmt.name)


def block_warnings(
    *,
    rules: Iterable[KernelRule],
    broken: list[BrokenBlock],
    architecture: Architecture,
    scheme: WeightScheme,
    deployment: Deployment,
    gpu: Gpu,
    stack: Stack,
    version: Version | None,
    model: str,
) -> list[str]:
    """Refuse broken blocks where the engine is known to stop, and say that it is not known elsewhere.

    Parameters
    ----------
    rules : iterable of KernelRule
        What engines do.
    broken : list of BrokenBlock
        Of `broken_blocks`, at least one.
    architecture, scheme, deployment
        As for `broken_blocks`.
    gpu : Gpu
        The accelerator.
    stack : Stack
        The engine.
    version : tuple of int or None
        Its version; None is the newest.
    model : str
        Id of the model.

    Returns
    -------
    list of str
        One line, where the engine is not known to stop.

    Raises
    ------
    IllegalDeployment
        In one line with the way out.
    """
    rules = list(rules)
    first = broken[0]
    more = f" (and {len(broken) - 1} more matrices)" if len(broken) > 1 else ""
    cut = (
        f"TP {deployment.tp} cuts {first.tensor.name} ({first.whole:,}) of {first.tensor.group} into "
        f"{first.share:,}, no whole number of {first.fmt} blocks of {first.block}{more}"
    )
    for found in broken:
        rule = pick_rule(
            rules,
            engine=stack.id,
            version=version,
            gpu=gpu,
            kind="moe_gemm" if found.tensor.expert else "gemm",
            width=found.share,
            weight_format=found.fmt,
            model=model,
        )
        if rule is not None and rule.refused:
            way = _way_out(architecture, scheme, deployment) or rule.remedy
            raise IllegalDeployment(f"{cut}, and {stack.name} stops there; it runs {way}")
    return [f"{cut}: other engines stop there; whether {stack.name} does is not known"]


def _way_out(architecture: Architecture, scheme: WeightScheme, deployment: Deployment) -> str:
    """Return the sizes that keep blocks whole: EP over all ranks, and the widest smaller TP."""
    ranks = deployment.tp * deployment.dp
    found = []
    if _whole(architecture, scheme, deployment.model_copy(update={"ep": ranks})):
        found.append(f"with --ep {ranks}")
    for tp in range(deployment.tp - 1, 0, -1):
        if deployment.tp % tp:
            continue
        smaller = {"tp": tp, "ep": min(deployment.ep, tp * deployment.dp), "dcp": 1}
        if _whole(architecture, scheme, deployment.model_copy(update=smaller)):
            found.append(f"with --tp {tp}")
            break
    return " or ".join(found)


def _whole(architecture: Architecture, scheme: WeightScheme, deployment: Deployment) -> bool:
    broken = next(broken_blocks(architecture, scheme, deployment), None)
    return broken is None and not architecture.refusals(deployment.sharding)
