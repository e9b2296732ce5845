"""A deployment made ready for questions of time: operators, links, kernels, KV pool and its profile."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from planner.architecture import Architecture
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import PlannerError
from planner.memory import MemoryFit, fit_memory
from planner.memory.preparing import prepare
from planner.memory.records import Pool
from planner.memory.setup import Setup, engine_name, state_dtypes
from planner.performance.costs import RowCost, build_profile
from planner.performance.fabric import Fabric, fabric_of
from planner.performance.host import HostTime, host_time
from planner.performance.offload import Offload, with_host
from planner.performance.operators import Operators, gather_operators
from planner.performance.profile import Profile
from planner.performance.steady import mean_tokens, request_bytes
from planner.performance.table import OperatorTable
from planner.scenario import Deployment, Workload
from planner.scenario.schemes import excepted_layers

ASSUMED_NETWORK_BYTES_PER_S = 25e9
"""Line rate between nodes of each GPU where the catalogue has none: one 200 Gbit/s port [bytes/s]."""

POOL_SHARE, OTHER_BYTES, LEAST_POOL = 0.9, 4e9, 0.03
"""Where the memory model refuses a deployment that was measured: share of memory, what else is taken, and the
smallest pool as a share of memory."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """One copy of a model on its GPUs.

    Parameters
    ----------
    model, gpu : Model, Gpu
        Catalogue records.
    deployment : Deployment
        As asked.
    architecture : Architecture
        The model's blocks.
    engine, version : str
        Engine whose kernels run, and its version or None.
    table : OperatorTable
        Its operators.
    costs : dict of int to RowCost
        What rows of the table cost.
    profile : Profile
        The deployment in numbers.
    fabric : Fabric
        What joins its ranks.
    host : HostTime
        Host time of a decode step.
    memory : MemoryFit or None
        The memory of a rank; None where the memory model refused the deployment.
    kv_dtype : str
        Dtype of the cache.
    main_format : str
        Format of most of the weights.
    calibrated_as : str
        What the calibration calls the engine.
    offload : Offload or None
        The host's part, where not all is on the GPUs.
    warnings : tuple of str
        What the user should know.
    """

    model: Model
    gpu: Gpu
    deployment: Deployment
    architecture: Architecture
    engine: str
    version: str | None
    table: OperatorTable
    costs: dict[int, RowCost]
    profile: Profile
    fabric: Fabric
    host: HostTime
    memory: MemoryFit | None
    kv_dtype: str
    main_format: str
    calibrated_as: str
    offload: Offload | None = None
    warnings: tuple[str, ...] = ()

    @property
    def crosses_nodes(self) -> bool:
        """Return whether one copy needs the network between nodes."""
        return self.fabric.crosses_nodes(self.deployment.gpus)


def deploy(
    *,
    model: Model,
    gpu: Gpu,
    deployment: Deployment,
    workload: Workload,
    catalogue: Catalogue,
    engine: str | None = None,
    network_bytes_per_s: float | None = None,
    measured: bool = False,
) -> Deployed:
    """Return a deployment ready for questions of time.

    Parameters
    ----------
    model, gpu, deployment, workload, catalogue
        As for `planner.memory.fit_memory`.
    engine : str, optional
        Engine whose kernels run, where it is not that of the deployment.
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.
    measured : bool
        Whether it is known to have run: what the memory model refuses is then let pass.

    Returns
    -------
    Deployed

    Raises
    ------
    PlannerError
        For what cannot run or is not known.
    """
    name, version = engine_name(deployment.engine)
    kernels = engine or catalogue.resolve("stacks", name)
    setup = prepare(model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue)
    memory: MemoryFit | None = None
    try:
        memory = fit_memory(
            model=model, gpu=gpu, deployment=deployment, workload=workload, catalogue=catalogue
        )
    except PlannerError:
        if not measured:
            raise
    table = OperatorTable(operators_of(setup))
    fabric, warnings = usual_fabric(gpu, deployment.gpus, catalogue, network_bytes_per_s)
    host = host_time(catalogue=catalogue, engine=kernels, version=version)
    profile, costs = build_profile(
        table,
        gpu=gpu,
        fabric=fabric,
        catalogue=catalogue,
        engine=kernels,
        version=version,
        model=model.id,
        host_s=host.mid_s,
        pool_bytes=0.0,
        layers=len(setup.architecture.layers),
    )
    if not measured:
        for cost in costs.values():
            if cost.choice is not None:
                cost.choice.check()
    profile = replace(
        with_pool(profile, memory.pool if memory else None, setup, workload),
        decode_slow=profile.decode_slow * float(stack_habit(setup, "step_factor", 1.0)),
        fills_stages=np.array([float(stack_habit(setup, "fills_stages", True))]),
    )
    profile, offload = with_host(profile, setup)
    return Deployed(
        model=model,
        gpu=gpu,
        deployment=deployment,
        architecture=setup.architecture,
        engine=kernels,
        version=version,
        table=table,
        costs=costs,
        profile=profile,
        fabric=fabric,
        host=host,
        memory=memory,
        kv_dtype=setup.kv_dtype,
        main_format=main_format(table),
        calibrated_as=str(stack_habit(setup, "calibrated_as", kernels)),
        offload=offload,
        warnings=warnings,
    )


def stack_habit(setup: Setup, name: str, default: float | str) -> float | str:
    """Return a setting that only some engines have, of the accelerator and version, or the default."""
    stack = setup.stack
    found = [item for item in stack.settings.get(name, ()) if item.applies(setup.version, setup.gpu)]
    return found[-1].value if found else default


def operators_of(setup: Setup) -> Operators:
    """Return the operators of a deployment that was made ready; the cache's dtype does not change them."""
    return gather_operators(
        setup.architecture,
        setup.scheme,
        setup.deployment.sharding,
        kv_dtype=setup.kv_dtype,
        stages=setup.stages,
        plain_layers=excepted_layers(setup.model, setup.deployment.weight_dtype),
        state_dtypes=state_dtypes(setup),
    )


def usual_fabric(
    gpu: Gpu, ranks: int, catalogue: Catalogue, given: float | None = None
) -> tuple[Fabric, tuple[str, ...]]:
    """Return the links between so many ranks, with an assumed network where nobody says how fast it is.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    ranks : int
        GPUs of one copy.
    catalogue : Catalogue
        With the families of links.
    given : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.

    Returns
    -------
    tuple of Fabric and tuple of str
        The links, and what was assumed of them.
    """
    families = catalogue.fabrics()
    fabric = fabric_of(gpu, families, network_bytes_per_s=given)
    try:
        fabric.layout(ranks)
    except PlannerError:
        assumed = ASSUMED_NETWORK_BYTES_PER_S
        text = f"the rate between nodes of {gpu.id} is not known; {assumed / 1e9:g} GB/s a GPU is assumed"
        return fabric_of(gpu, families, network_bytes_per_s=assumed), (text,)
    return fabric, ()


def with_pool(profile: Profile, pool: Pool | None, setup: Setup, workload: Workload) -> Profile:
    """Return the profile with its pool, no larger than what the requests need that may run at once.

    Where it is allocated as asked it has all the slots that fit, whether a load needs them or not; as slots
    share no room, it is counted as what their requests hold on average.
    """
    if pool is None or not pool.most_slots:
        return replace(profile, pool_bytes=np.array([_shared_bytes(profile, pool, setup)]))
    lengths = (workload.isl or setup.context, workload.osl or 0)
    tokens = mean_tokens(*(np.array([float(each)]) for each in lengths))
    # Requests of other lengths get slots of their own length, where no context was stated.
    limit = pool.engine_slots if workload.context is None else pool.most_slots
    return replace(
        profile,
        pool_bytes=pool.most_slots * request_bytes(profile, tokens) / profile.pp,
        slots=np.array([float(limit or pool.most_slots)]),
    )


def _shared_bytes(profile: Profile, pool: Pool | None, setup: Setup) -> float:
    """Return the pool of a rank that requests share [bytes]."""
    if pool is None or pool.max_concurrency < 1:
        usable = setup.gpu.usable_bytes
        left = usable * POOL_SHARE - float(profile.weight_bytes[0] / profile.pp[0]) - OTHER_BYTES
        return max(left, LEAST_POOL * usable)
    limits = [limit for limit in (pool.slots, setup.deployment.max_num_seqs) if limit is not None]
    held = float(request_bytes(profile, np.array([float(setup.context)]))[0]) / float(profile.pp[0])
    return min(pool.bytes, *(limit * held for limit in limits), math.inf)


def main_format(table: OperatorTable) -> str:
    """Return the format of the experts, or else of most of the matrices."""
    sizes: dict[str, float] = {}
    for row, count in zip(table.rows, table.count, strict=True):
        if row.kind in ("gemm", "moe_gemm"):
            sizes[row.format] = sizes.get(row.format, 0.0) + count * row.n * row.k * max(row.rank_experts, 1)
    return max(sizes, key=lambda name: sizes[name], default="bf16")
