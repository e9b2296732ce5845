"""Weights that are not on the GPU: what the engine always leaves out, and what a user puts on the host."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.catalogue import Catalogue
from planner.catalogue.hosts import USUAL_HOST, HostMachine, host_machine
from planner.errors import IllegalDeployment
from planner.memory.built import count_caches
from planner.memory.weights import Tiles, stage_weights
from planner.scenario.offload import OffloadPlan
from planner.scenario.schemes import excepted_layers
from planner.units import format_bytes

if TYPE_CHECKING:
    from planner.memory.setup import Setup

EXPERTS, TABLE, OUTPUT = "routed_experts", "embed", "lm_head"
"""Weight groups that go to one side or the other."""

HOST_SHARE = 0.9
"""Of a host's memory, what a model may take; the rest is the system's."""


@dataclass(frozen=True, slots=True)
class HostSide:
    """What the host holds and does for a deployment.

    Parameters
    ----------
    machine : HostMachine
        The host.
    plan : OffloadPlan
        What is not on the GPU.
    weights : Counter
        Weights in the host's memory by group [bytes], of one GPU where they stream.
    room_bytes : float
        Memory that is left for caches of layers on the CPU; negative where the weights do not fit [bytes].
    """

    machine: HostMachine
    plan: OffloadPlan
    weights: Counter[str] = field(default_factory=Counter)
    room_bytes: float = 0.0

    @property
    def read_weights(self) -> Counter[str]:
        """Return the weights that a step reads: all but the table, of which it takes a row."""
        return Counter({group: size for group, size in self.weights.items() if group != TABLE})


def leave_on_host(setup: Setup) -> None:
    """Take out of the weights what the engine keeps in the host's memory, and say so."""
    for item in setup.stack.settings.get("host_group", ()):
        if item.applies(setup.version, setup.gpu):
            held = sum(groups.pop(str(item.value), 0) for groups in setup.weights)
            if held:
                setup.warnings.append(
                    f"{item.value} ({format_bytes(held)}) stays in the host's pinned memory, not on the GPUs"
                )


def put_on_host(setup: Setup, plan: OffloadPlan, catalogue: Catalogue) -> HostSide | None:
    """Divide the weights between the GPU and the host, and say what each has.

    Parameters
    ----------
    setup : Setup
        With the weights of the layers that the GPU runs; those that go to the host are taken out.
    plan : OffloadPlan
        What goes there.
    catalogue : Catalogue
        With the hosts.

    Returns
    -------
    HostSide or None
        None where all is on the GPU.

    Raises
    ------
    IllegalDeployment
        Where more is to stream than there are weights.
    """
    if not plan.active:
        return None
    named = setup.deployment.host
    machine = host_machine(catalogue, named or USUAL_HOST)
    if named is None:
        setup.note("host", machine.id, "", "assumed: not given (--host); " + machine.provenance())
    held = _streamed(setup, plan) if plan.streamed_bytes else _on_cpu(setup, plan)
    copies = setup.deployment.gpus if plan.streamed_bytes else 1
    room = HOST_SHARE * machine.memory.value - copies * sum(held.values())
    setup.warnings.append(_said(plan, machine, sum(held.values()), named is not None))
    return HostSide(machine, plan, held, room)


def _said(plan: OffloadPlan, machine: HostMachine, held: float, named: bool) -> str:
    """Return what is off the GPU, and what it is read with."""
    which = machine.id if named else f"{machine.id} (assumed; --host names yours)"
    if plan.streamed_bytes:
        return (
            f"{format_bytes(held)} of weights of a GPU are in the memory of {which} and come over its link "
            f"in each step, at {machine.link_share.value:.0%} of {machine.link} or of the card's own slot"
        )
    parts = []
    if plan.cpu_layers:
        parts.append(f"{plan.cpu_layers} layers")
    if plan.expert_layers:
        parts.append(f"the experts of {len(plan.expert_layers)} layers")
    if not plan.output_on_gpu:
        parts.append("the output")
    return (
        f"{' and '.join(parts)} ({format_bytes(held)}) run on the CPU of {which}, which reads "
        f"{machine.read_bytes_per_s / 1e9:.3g} GB/s: {machine.provenance()}"
    )


def _streamed(setup: Setup, plan: OffloadPlan) -> Counter[str]:
    """Take the same share of every group off each GPU, and return that of the fullest."""
    held: Counter[str] = Counter()
    for groups in setup.weights:
        whole = groups.total()
        if plan.streamed_bytes >= whole:
            raise IllegalDeployment(
                f"cpu_offload_gb: {format_bytes(plan.streamed_bytes)} is not below the "
                f"{format_bytes(whole)} of weights of a GPU"
            )
        moved = Counter({group: int(size * plan.streamed_bytes / whole) for group, size in groups.items()})
        groups.subtract(moved)
        held = max(held, moved, key=lambda each: each.total())
    return held


def _on_cpu(setup: Setup, plan: OffloadPlan) -> Counter[str]:
    """Take the CPU's layers, experts and tables off the GPU, and return them."""
    architecture, groups = setup.architecture, setup.weights[0]

    def weigh(ranges: list[range]) -> Counter[str]:
        found = stage_weights(
            architecture,
            setup.scheme,
            setup.deployment.sharding,
            ranges,
            tiles=Tiles(),
            plain_layers=excepted_layers(setup.model, setup.deployment.weight_dtype),
            towers=False,
        )
        return sum((each for each in found), Counter())

    held: Counter[str] = Counter()
    if plan.cpu_layers:
        held = weigh([range(plan.cpu_layers)])
    for group in (TABLE, OUTPUT):
        held.pop(group, None)
    tied = architecture.tied_embeddings
    if not (tied and plan.output_on_gpu):
        held[TABLE] = groups.pop(TABLE, 0)
    if not plan.output_on_gpu:
        held[OUTPUT] = groups.pop(OUTPUT, 0) + (held.pop(TABLE) if tied else 0)
    if plan.expert_layers:
        experts = weigh([range(index, index + 1) for index in plan.expert_layers])[EXPERTS]
        groups[EXPERTS] -= experts
        held[EXPERTS] += experts
    return +held


def host_requests(setup: Setup, tokens: int) -> float:
    """Return how many requests of so many tokens the host has room for; infinity where it keeps no cache."""
    from planner.memory.cells import cells  # late: it reads setups, which are made with this module

    side = setup.host_side
    if side is None:
        return float("inf")
    if side.room_bytes < 0:
        return 0.0
    found = cells(setup, count_caches(setup.architecture.layers[: side.plan.cpu_layers]))
    size = found.request_bytes(tokens)
    return side.room_bytes / size if size else float("inf")


def host_shortage(setup: Setup) -> str | None:
    """Return that the host's memory does not hold what was put there, where it does not."""
    side = setup.host_side
    if side is None or host_requests(setup, setup.request_tokens) >= setup.concurrency:
        return None
    return (
        f"host memory: {format_bytes(sum(side.weights.values()))} of weights beside their caches exceed "
        f"{HOST_SHARE:.0%} of the {format_bytes(side.machine.memory.value)} of {side.machine.id}"
    )
