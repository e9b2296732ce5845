"""What of a model a card does not hold: layers or experts on the CPU, or weights that stream to the GPU."""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture import Architecture
from planner.architecture.model import Layer
from planner.errors import IllegalDeployment, InvalidInput
from planner.scenario.records import Deployment

GIB = 2**30
ON_CPU = ("llama.cpp",)
"""Engines that run layers or experts on the CPU (``-ngl``, ``--n-cpu-moe``)."""
STREAMED = ("vllm", "sglang")
"""Engines that keep weights in the host's memory and read them over its link in each step
(``--cpu-offload-gb``, in GiB for each GPU)."""


@dataclass(frozen=True, slots=True)
class OffloadPlan:
    """What is not on the GPU.

    Parameters
    ----------
    cpu_layers : int
        So many layers from the first run on the CPU.
    output_on_gpu : bool
        Whether the LM head is on the GPU.
    expert_layers : tuple of int
        Layers, counted from 0, that are on the GPU but for their routed experts.
    streamed_bytes : float
        Weights of each GPU that stay in the host's memory and come over its link [bytes].
    """

    cpu_layers: int = 0
    output_on_gpu: bool = True
    expert_layers: tuple[int, ...] = ()
    streamed_bytes: float = 0.0

    @property
    def on_cpu(self) -> bool:
        """Return whether the CPU computes anything."""
        return bool(self.cpu_layers or self.expert_layers or not self.output_on_gpu)

    @property
    def active(self) -> bool:
        """Return whether anything is not on the GPU."""
        return self.on_cpu or self.streamed_bytes > 0


def asks_offload(deployment: Deployment) -> bool:
    """Return whether a deployment names anything that is to stay off the GPU."""
    return any(
        given is not None for given in (deployment.ngl, deployment.n_cpu_moe, deployment.cpu_offload_gb)
    )


def runs_on_cpu(deployment: Deployment) -> bool:
    """Return whether a deployment asks for layers or experts on the CPU, which is planned beside one GPU."""
    return deployment.ngl is not None or deployment.n_cpu_moe is not None


def offload_plan(deployment: Deployment, architecture: Architecture, engine: str) -> OffloadPlan:
    """Return what a deployment leaves off the GPU.

    ``ngl`` counts the LM head first and then layers from the last one, as llama.cpp does: of 48 layers,
    ``ngl=8`` is the head and the last 7, and 49 is all. ``n_cpu_moe`` keeps the routed experts of so many
    layers from the first on the CPU.

    Parameters
    ----------
    deployment : Deployment
        As asked.
    architecture : Architecture
        The model's blocks.
    engine : str
        Id of the engine's stack.

    Returns
    -------
    OffloadPlan

    Raises
    ------
    InvalidInput
        For options that the engine does not have, or numbers beyond the model's layers.
    IllegalDeployment
        For layers on the CPU beside more than one GPU, which is not planned.
    """
    if not asks_offload(deployment):
        if deployment.host is not None:
            raise InvalidInput(
                "host: names what serves weights off the GPU; it needs ngl, n_cpu_moe or cpu_offload_gb, "
                "and planner fit without host says which ngl the card holds"
            )
        return OffloadPlan()
    _check_engine(deployment, engine)
    layers = len(architecture.layers)
    on_gpu = layers + 1 if deployment.ngl is None else deployment.ngl
    if on_gpu > layers + 1:
        raise InvalidInput(
            f"ngl {on_gpu} is above the {layers} layers and the output; legal: 0 to {layers + 1} (all)"
        )
    cpu_layers = layers - max(on_gpu - 1, 0)
    return OffloadPlan(
        cpu_layers=cpu_layers,
        output_on_gpu=on_gpu > 0,
        expert_layers=_expert_layers(deployment, architecture, cpu_layers),
        streamed_bytes=(deployment.cpu_offload_gb or 0.0) * GIB,
    )


def _check_engine(deployment: Deployment, engine: str) -> None:
    layered = "ngl" if deployment.ngl is not None else "n_cpu_moe" if deployment.n_cpu_moe is not None else ""
    if layered and engine not in ON_CPU:
        raise InvalidInput(f"{layered}: {engine} runs no layers on the CPU; {' and '.join(ON_CPU)} does")
    if deployment.cpu_offload_gb is not None and engine not in STREAMED:
        raise InvalidInput(
            f"cpu_offload_gb: {engine} streams no weights from the host; {' and '.join(STREAMED)} do"
            + ("; ngl puts layers on the CPU" if engine in ON_CPU else "")
        )
    if layered and deployment.gpus > 1:
        raise IllegalDeployment(
            f"{layered} beside {deployment.gpus} GPUs is not planned; legal: one GPU, or no {layered}"
        )


def _expert_layers(deployment: Deployment, architecture: Architecture, cpu_layers: int) -> tuple[int, ...]:
    asked = deployment.n_cpu_moe
    if asked is None:
        return ()
    with_experts = [index for index, layer in enumerate(architecture.layers) if has_experts(layer)]
    if not with_experts:
        raise InvalidInput("n_cpu_moe: the model has no experts; ngl puts whole layers on the CPU")
    layers = len(architecture.layers)
    if asked > layers:
        raise InvalidInput(f"n_cpu_moe {asked} is above the model's {layers} layers; legal: 0 to {layers}")
    return tuple(index for index in with_experts if cpu_layers <= index < asked)


def has_experts(layer: Layer) -> bool:
    """Return whether a layer has routed experts."""
    return any(tensor.expert for block in layer.blocks for tensor in block.tensors())
