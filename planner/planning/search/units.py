"""One copy of every deployment to try: legal, held by its memory, and in numbers for the time model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import IllegalDeployment, PlannerError, Unsupported
from planner.memory.built import Same, SameModel
from planner.memory.fit import Trial, try_memory
from planner.memory.setup import Setup, engine_name
from planner.memory.weights import KnownWeights
from planner.performance.acceptance import Acceptance
from planner.performance.costs import KnownKernels, build_profile
from planner.performance.deployed import main_format, operators_of, usual_fabric, with_pool
from planner.performance.fabric import Fabric
from planner.performance.host import host_time
from planner.performance.operators import Operators
from planner.performance.profile import Profile
from planner.performance.speculation import acceptance_of, check_draft
from planner.performance.table import OperatorTable
from planner.planning.search.records import Refusal, SearchSpace
from planner.planning.search.usual import by_format
from planner.scenario import Deployment, Workload

TOO_LARGE, NO_ROOM, NOT_NEEDED = "weights too large", "no room for a request", "not needed"
NOT_TRIED = (
    "the model is held without more stages and without the network between nodes; every_layout, or a list of "
    "pp, tries such layouts too"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """One copy that can run.

    Parameters
    ----------
    deployment : Deployment
        As asked.
    profile : Profile
        It in numbers.
    format : str
        Format of most of the weights.
    family : str
        Of the architecture.
    crosses_nodes : bool
        Whether it needs the network between nodes.
    acceptance : Acceptance or None
        What a step with drafts yields.
    most_at_once : float
        Requests that the engine runs at once, by its own limit.
    """

    deployment: Deployment
    profile: Profile
    format: str
    family: str
    crosses_nodes: bool
    acceptance: Acceptance | None
    most_at_once: float


@dataclass(slots=True)
class Refusals:
    """Counts what cannot be, by reason."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, example: str, count: int = 1) -> None:
        """Count deployments."""
        if count:
            self.counts[reason] = self.counts.get(reason, 0) + count
            self.examples.setdefault(reason, example)

    def records(self) -> tuple[Refusal, ...]:
        """Return the reasons, the most frequent first."""
        ordered = sorted(self.counts, key=lambda reason: -self.counts[reason])
        return tuple(Refusal(reason, self.counts[reason], self.examples[reason]) for reason in ordered)


MOST_SHARED = 32
"""Searches whose parts a process keeps, each of one model on one accelerator."""


@dataclass(slots=True)
class Shared:
    """Parts of deployments that no length of a request changes, so that the next search has them at once."""

    profiles: dict[tuple[object, ...], tuple[Profile, str]] = field(default_factory=dict)
    weights: KnownWeights = field(default_factory=dict)
    operators: dict[tuple[object, ...], Operators] = field(default_factory=dict)
    kernels: KnownKernels = field(default_factory=dict)
    fabrics: dict[int, Fabric] = field(default_factory=dict)


@lru_cache(maxsize=MOST_SHARED)
def _shared(*same: Hashable) -> Shared:  # what makes it the same is its key alone
    return Shared()


class Workbench:
    """Makes units of one model on one accelerator; what several share is worked out once.

    Parameters
    ----------
    model, gpu, catalogue
        As for `planner.performance.deployed.deploy`.
    base : Deployment
        What is alike in all deployments.
    workload : Workload
        The longest request.
    space : SearchSpace
        For drafts and the network.
    """

    def __init__(
        self,
        *,
        model: Model,
        gpu: Gpu,
        base: Deployment,
        workload: Workload,
        space: SearchSpace,
        catalogue: Catalogue,
    ) -> None:
        self.model, self.gpu, self.catalogue, self.space = model, gpu, catalogue, space
        if space.draft is not None:
            check_draft(catalogue, space.draft)
        # The pool is asked for one request: how many more fit is part of the answer.
        self.workload = Workload(context=workload.context, isl=workload.isl, osl=workload.osl)
        records = (SameModel(model), Same(gpu), Same(catalogue))
        self._shared = _shared(*records, base, space.network_bytes_per_s)
        self._legal: set[tuple[object, ...]] = set()
        self._accepted: dict[int, Acceptance | None] = {}

    def units(self, deployments: Iterable[Deployment], refused: Refusals) -> list[Unit]:
        """Return those that can run, and count why others cannot.

        Parameters
        ----------
        deployments : iterable of Deployment
            By rising number of GPUs.
        refused : Refusals
            Where others are counted.

        Returns
        -------
        list of Unit
            Of each format only the usual layouts that hold the model, as `planner.planning.search.usual` has
            them, unless all are asked for.
        """
        if self.space.every_layout or self.space.pp is not None:
            return self._those_that_run(deployments, refused)
        found: list[Unit] = []
        for tiers in by_format(deployments, self.gpu).values():
            for place, tier in enumerate(tiers):
                held = self._those_that_run(tier, refused, fewest_stages=True)
                found += held
                if held:
                    refused.add(NOT_NEEDED, NOT_TRIED, sum(map(len, tiers[place + 1 :])))
                    break
        return found

    def _those_that_run(
        self, deployments: Iterable[Deployment], refused: Refusals, fewest_stages: bool = False
    ) -> list[Unit]:
        found: list[Unit] = []
        stages: dict[tuple[int, ...], int] = {}
        for deployment in deployments:
            sizes = (deployment.tp, deployment.dp, deployment.ep, deployment.dcp)
            if fewest_stages and stages.get(sizes, deployment.pp) < deployment.pp:
                refused.add(NOT_NEEDED, NOT_TRIED)
                continue
            try:
                unit = self._unit(deployment, refused)
            except (IllegalDeployment, Unsupported) as error:
                refused.add(_reason(error), f"{deployment.layout}: {error}")
                continue
            if unit is not None:
                found.append(unit)
                stages.setdefault(sizes, deployment.pp)
        return found

    def _unit(self, deployment: Deployment, refused: Refusals) -> Unit | None:
        legal = (deployment.weight_dtype, deployment.kv_dtype, deployment.sharding)
        trial = try_memory(
            model=self.model,
            gpu=self.gpu,
            deployment=deployment,
            workload=self.workload,
            catalogue=self.catalogue,
            legal=legal in self._legal,
            known=self._shared.weights,
        )
        self._legal.add(legal)
        if trial.found is None or trial.verdict is None:
            refused.add(TOO_LARGE, f"{deployment.layout}: weights alone are more than a GPU has")
            return None
        if not trial.fits:
            refused.add(NO_ROOM, f"{deployment.layout}: {trial.verdict.binding_limit}")
            return None
        setup = trial.setup
        profile, fmt = self._profile(setup)
        fabric = self._fabric(deployment.gpus)
        return Unit(
            deployment=deployment,
            profile=with_pool(profile, trial.found.pool, setup, self.workload),
            format=fmt,
            family=setup.architecture.family,
            crosses_nodes=fabric.crosses_nodes(deployment.gpus),
            acceptance=self._acceptance(deployment.speculative_tokens, setup),
            most_at_once=_most_at_once(trial),
        )

    def _profile(self, setup: Setup) -> tuple[Profile, str]:
        deployment = setup.deployment
        key = (deployment.weight_dtype, deployment.sharding, setup.kv_dtype)
        if key not in self._shared.profiles:
            name, version = engine_name(deployment.engine)
            kernels = self.catalogue.resolve("stacks", name)
            cut = (deployment.weight_dtype, deployment.sharding)
            if cut not in self._shared.operators:
                self._shared.operators[cut] = operators_of(setup)
            table = OperatorTable(replace(self._shared.operators[cut], kv_dtype=setup.kv_dtype))
            profile, costs = build_profile(
                table,
                gpu=self.gpu,
                fabric=self._fabric(deployment.gpus),
                catalogue=self.catalogue,
                engine=kernels,
                version=version,
                model=self.model.id,
                host_s=host_time(catalogue=self.catalogue, engine=kernels, version=version).mid_s,
                pool_bytes=0.0,
                layers=len(setup.architecture.layers),
                kernels=self._shared.kernels,
            )
            for cost in costs.values():
                if cost.choice is not None:
                    cost.choice.check()
            self._shared.profiles[key] = profile, main_format(table)
        return self._shared.profiles[key]

    def _fabric(self, ranks: int) -> Fabric:
        if ranks not in self._shared.fabrics:
            given = self.space.network_bytes_per_s
            self._shared.fabrics[ranks] = usual_fabric(self.gpu, ranks, self.catalogue, given)[0]
        return self._shared.fabrics[ranks]

    def _acceptance(self, drafted: int, setup: Setup) -> Acceptance | None:
        if drafted not in self._accepted:
            self._accepted[drafted] = (
                acceptance_of(
                    catalogue=self.catalogue,
                    model=self.model.id,
                    architecture=setup.architecture,
                    drafted=drafted,
                    draft=self.space.draft,
                    stated=self.space.tokens_per_step,
                )
                if drafted
                else None
            )
        return self._accepted[drafted]


def _reason(error: PlannerError) -> str:
    """Return why in a few words, without the numbers that make each case another."""
    words = []
    for word in str(error).replace(":", " :").split():
        if word == ":" or any(sign.isdigit() for sign in word):
            break
        words.append(word)
    return " ".join(words[:6]) or type(error).__name__


def _most_at_once(trial: Trial) -> float:
    """Return the requests that the engine runs at once in one copy, as it is set up."""
    if trial.found is not None and trial.found.pool.most_slots:
        return float(trial.found.pool.most_slots) * trial.setup.deployment.dp
    given = trial.setup.deployment.max_num_seqs
    noted = {item.name: item.value for item in trial.setup.assumptions}.get("max_num_seqs")
    each = given if given is not None else noted
    return float(each) * trial.setup.deployment.dp if isinstance(each, int | float) else np.inf
