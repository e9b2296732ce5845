"""From the sizes a user gives, or none, to the deployments that are meant."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import IllegalDeployment, InvalidInput
from planner.memory import MemoryFit, fit_memory, smallest_deployment
from planner.scenario import Deployment, Workload
from planner.scenario.offload import runs_on_cpu
from planner.scenario.records import Scenario, Size


class Sizes(Scenario):
    """The sizes a user gives; None where planner may choose."""

    gpus: Size | None = None
    """GPUs of the deployment."""
    tp: Size | None = None
    """Tensor-parallel size."""
    pp: Size | None = None
    """Pipeline stages."""
    ep: Size | None = None
    """Expert-parallel size."""
    dp: Size | None = None
    """Data-parallel copies of attention."""
    dcp: Size | None = None
    """Decode-context parallel size."""

    @property
    def given(self) -> bool:
        """Return whether any size was given."""
        return any(size is not None for size in (self.gpus, self.tp, self.pp, self.ep, self.dp, self.dcp))


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one accelerator type can do for a model.

    Parameters
    ----------
    memory : MemoryFit
        The deployment that was given; else the smallest that fits; else one whole node.
    one_node : MemoryFit or None
        One whole node, where no sizes were given and the model can be divided over a node.
    smallest : MemoryFit or None
        The smallest deployment that fits: of those that are tried, or the given one where it has fewer GPUs.
    even : MemoryFit or None
        The smallest that divides or fills nodes, where the given one is smaller and does neither.
    """

    memory: MemoryFit
    one_node: MemoryFit | None
    smallest: MemoryFit | None
    even: MemoryFit | None = None


def judge(
    *, model: Model, gpu: Gpu, base: Deployment, sizes: Sizes, workload: Workload, catalogue: Catalogue
) -> Judgement:
    """Judge the deployment of the given sizes, or find the smallest one that fits.

    Parameters
    ----------
    model, gpu : Model, Gpu
        What runs, and on what.
    base : Deployment
        Everything but the sizes: dtypes, engine and its options.
    sizes : Sizes
        What the user gives.
    workload : Workload
        What it carries.
    catalogue : Catalogue
        Where the engine's settings are.

    Returns
    -------
    Judgement

    Raises
    ------
    PlannerError
        When the sizes contradict each other, or the model cannot be cut so.
    """

    def usual(wanted: Sizes, *, that_fits: bool, advise: bool = True) -> MemoryFit:
        return _first_layout(model, gpu, layouts(wanted, gpu, base), workload, catalogue, that_fits, advise)

    given = usual(sizes, that_fits=True) if sizes.given else None
    smallest = smallest_deployment(
        model=model, gpu=gpu, workload=workload, deployment=base, catalogue=catalogue
    )
    if given is not None:
        if given.fits and (smallest is None or given.deployment.gpus < smallest.deployment.gpus):
            return Judgement(given, None, given, smallest if gpu.whole_nodes else None)
        return Judgement(given, None, smallest)
    if smallest is None:
        one_node = usual(Sizes(gpus=1 if runs_on_cpu(base) else gpu.node_gpus), that_fits=False)
        return Judgement(one_node, one_node, None)
    if smallest.deployment.gpus == gpu.node_gpus:
        return Judgement(smallest, smallest, smallest)
    try:
        # What would lift the limit of one node is of no use where the smallest deployment is the answer.
        one_node = usual(Sizes(gpus=gpu.node_gpus), that_fits=False, advise=False)
        return Judgement(smallest, one_node, smallest)
    except IllegalDeployment:
        return Judgement(smallest, None, smallest)


def fills_nodes(gpu: Gpu, count: int) -> bool:
    """Return whether a number of GPUs is part of a node or whole nodes: baseboard parts are sold so."""
    return not gpu.whole_nodes or count <= gpu.node_gpus or count % gpu.node_gpus == 0


def layouts(sizes: Sizes, gpu: Gpu, base: Deployment) -> list[Deployment]:
    """Return the deployments that the given sizes may mean, the usual one first.

    Parameters
    ----------
    sizes : Sizes
        What the user gives. GPUs without sizes are filled with tensor parallelism up to a node, and pipeline
        stages beyond.
    gpu : Gpu
        For the size of a node.
    base : Deployment
        Everything else.

    Returns
    -------
    list of Deployment
        One where the sizes leave no choice.

    Raises
    ------
    InvalidInput
        When no whole sizes give the number of GPUs.
    """
    dp, fixed = sizes.dp or 1, {"ep": sizes.ep or 1, "dcp": sizes.dcp or 1}
    if sizes.gpus is None:
        pairs = [(sizes.tp or 1, sizes.pp or 1)]
    else:
        pairs = _pairs(sizes.gpus, dp, sizes.tp, sizes.pp, gpu.node_gpus)
    made = [base.model_copy(update={"tp": tp, "pp": pp, "dp": dp, **fixed}) for tp, pp in pairs]
    if not made:
        given = ", ".join(
            f"{name} {size}" for name in ("tp", "pp", "dp") if (size := getattr(sizes, name)) is not None
        )
        product = math.prod(size for size in (sizes.tp, sizes.pp, sizes.dp) if size)
        raise InvalidInput(
            f"gpus {sizes.gpus} and {given} contradict each other: GPUs = tp x pp x dp, "
            f"so gpus must be a multiple of {product}"
        )
    return made


def _pairs(gpus: int, dp: int, tp: int | None, pp: int | None, node_gpus: int) -> list[tuple[int, int]]:
    """Return the (tp, pp) whose product times dp is the number of GPUs, the widest tp within a node first."""
    if gpus % dp:
        return []
    ranks = gpus // dp
    found = [(width, ranks // width) for width in range(ranks, 0, -1) if ranks % width == 0]
    if tp is not None or pp is not None:
        return [pair for pair in found if tp in (None, pair[0]) and pp in (None, pair[1])]
    return [pair for pair in found if pair[0] <= node_gpus]


def _first_layout(
    model: Model,
    gpu: Gpu,
    candidates: list[Deployment],
    workload: Workload,
    catalogue: Catalogue,
    that_fits: bool,
    advise: bool,
) -> MemoryFit:
    """Return the first legal layout, or the first one that fits where there is one and it is asked for."""

    def fit(deployment: Deployment, *, advise: bool) -> MemoryFit:
        return fit_memory(
            model=model,
            gpu=gpu,
            deployment=deployment,
            workload=workload,
            catalogue=catalogue,
            advise=advise,
        )

    chosen: Deployment | None = None
    refused: IllegalDeployment | None = None
    for deployment in candidates:
        try:
            memory = fit(deployment, advise=False)
        except IllegalDeployment as error:
            refused = refused or error
            continue
        if memory.fits or not that_fits:
            chosen = deployment
            break
        chosen = chosen or deployment
    if chosen is None:
        assert refused is not None
        raise refused
    return fit(chosen, advise=advise)
