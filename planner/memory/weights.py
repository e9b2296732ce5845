"""Weights of each pipeline stage: every tensor in its own format, cut as the engine cuts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.architecture import Architecture, Sharding
from planner.architecture.model import Block
from planner.architecture.quantisation import WeightScheme
from planner.architecture.tensors import Split, Tensor
from planner.errors import IllegalDeployment

TIED_GROUP, TIED_TABLE = "embed", "embed_tokens"
"""What a tied LM head is on the last stage; other tables before the first layer stay there."""

NOT_SERVED = "talker"
"""Speech output, which engines that serve text leave in the checkpoint."""

COPIES = "mtp_copies"
"""Tables that a draft's checkpoint repeats; engines share them with the model."""


def split_layers(layers: int, stages: int, explicit: Sequence[int] | None = None) -> list[range]:
    """Return the layers of each pipeline stage.

    Parameters
    ----------
    layers : int
        Layers of the model.
    stages : int
        Pipeline-parallel size.
    explicit : sequence of int, optional
        Layers of each stage.

    Returns
    -------
    list of range
        Where layers do not divide evenly, the later stages take one more each, but not the last, which holds
        the LM head (vLLM's `get_pp_indices`).

    Raises
    ------
    IllegalDeployment
        When there are fewer layers than stages, or an explicit split does not add up.
    """
    if stages > layers:
        raise IllegalDeployment(f"PP {stages} needs at least {stages} layers; the model has {layers}")
    if explicit is not None and sum(explicit) != layers:
        raise IllegalDeployment(f"pipeline layers add up to {sum(explicit)}; the model has {layers}")
    sizes = list(explicit) if explicit is not None else [layers // stages] * stages
    for extra in range(layers - sum(sizes)):
        sizes[max(stages - 2 - extra, 0)] += 1
    starts = [sum(sizes[:stage]) for stage in range(stages)]
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Tiles:
    """To what multiples a kernel pads experts, by weight format.

    Parameters
    ----------
    width : mapping of str to int
        For the width of an expert, which ranks divide.
    stream : mapping of str to int
        For the stream that experts read and write.
    """

    width: Mapping[str, int] = field(default_factory=dict)
    stream: Mapping[str, int] = field(default_factory=dict)


def tensor_bytes(tensor: Tensor, scheme: WeightScheme, sharding: Sharding, tiles: Tiles) -> int:
    """Return the bytes of a tensor on the fullest rank.

    Parameters
    ----------
    tensor : Tensor
        A tensor of one block.
    scheme : WeightScheme
        The formats of the weights.
    sharding : Sharding
        The parallel sizes.
    tiles : Tiles
        Padding of experts.

    Returns
    -------
    int
        Bytes, scales and padding included.
    """
    fmt = scheme.format_of(tensor)
    if not (tensor.expert and tensor.is_matrix):
        return tensor.rank_bytes(fmt, sharding)
    count, rows, cols = tensor.rank_shape(sharding, tiles.width.get(fmt.name, 1))
    stream = tiles.stream.get(fmt.name, 1)
    if tensor.split is Split.COLUMN:
        cols = -(-cols // stream) * stream
    elif tensor.split is Split.ROW:
        rows = -(-rows // stream) * stream
    return count * fmt.matrix_bytes(rows, cols)


def stage_weights(
    architecture: Architecture,
    scheme: WeightScheme,
    sharding: Sharding,
    stages: Sequence[range],
    *,
    tiles: Tiles,
    draft: bool = False,
    towers: bool = True,
    plain_layers: frozenset[int] = frozenset(),
) -> list[Counter[str]]:
    """Return the weights of the fullest rank of each stage by weight group [bytes].

    The embedding is on the first stage, the LM head on the last, which also holds a tied table where there
    are several; towers are on the first and draft layers on the last. Speech output is not loaded.

    Parameters
    ----------
    architecture : Architecture
        The model.
    scheme : WeightScheme
        The formats of its weights.
    sharding : Sharding
        The parallel sizes. Attention, dense and shared parts are whole on each data-parallel copy.
    stages : sequence of range
        Layers of each stage.
    tiles : Tiles
        Padding of experts.
    draft, towers : bool
        Whether draft layers, and vision and audio towers, are loaded.
    plain_layers : frozenset of int
        Layers that the scheme leaves in its default format.

    Returns
    -------
    list of Counter
    """
    plain = WeightScheme(scheme.name, scheme.default, {})
    known: dict[tuple[int, bool], Counter[str]] = {}
    groups: list[Counter[str]] = []
    for stage in stages:
        total: Counter[str] = Counter()
        for index in stage:
            layer, left = architecture.layers[index], index in plain_layers
            key = (id(layer), left)
            if key not in known:
                known[key] = _weigh(layer.blocks, plain if left else scheme, sharding, tiles)
            total.update(known[key])
        groups.append(total)
    groups[0].update(_weigh(architecture.embedding, scheme, sharding, tiles))
    if towers:
        groups[0].update(_weigh(architecture.towers, scheme, sharding, tiles))
    groups[0].pop(NOT_SERVED, None)
    groups[-1].update(_weigh(architecture.head, scheme, sharding, tiles))
    if architecture.tied_embeddings and len(stages) > 1:
        groups[-1][TIED_GROUP] += sum(
            tensor_bytes(tensor, scheme, sharding, tiles)
            for block in architecture.embedding
            for tensor in block.tensors()
            if tensor.name == TIED_TABLE
        )
    if draft:
        for draft_layer in architecture.draft:
            groups[-1].update(_weigh(draft_layer.blocks, scheme, sharding, tiles))
        groups[-1].pop(COPIES, None)
    return groups


KnownWeights = dict[tuple[object, ...], list[Counter[str]]]


def known_weights(
    known: KnownWeights,
    weight_dtype: str | None,
    architecture: Architecture,
    scheme: WeightScheme,
    sharding: Sharding,
    stages: Sequence[range],
    *,
    tiles: Tiles,
    draft: bool,
    towers: bool,
    plain_layers: frozenset[int],
) -> list[Counter[str]]:
    """Return the weights of each stage, worked out once for all caches and loads of a search.

    Parameters
    ----------
    known : dict
        Weights of deployments of the same model, accelerator and engine; what is missing is added.
    weight_dtype : str or None
        What the scheme is called in the deployment.
    architecture, scheme, sharding, stages, tiles, draft, towers, plain_layers
        As for `stage_weights`.

    Returns
    -------
    list of Counter
        Copies, to be changed at will.
    """
    ends = tuple((stage.start, stage.stop) for stage in stages)
    key = (weight_dtype, sharding.tp, sharding.ep, sharding.dp, ends, draft, towers)
    if key not in known:
        known[key] = stage_weights(
            architecture,
            scheme,
            sharding,
            stages,
            tiles=tiles,
            draft=draft,
            towers=towers,
            plain_layers=plain_layers,
        )
    return [Counter(groups) for groups in known[key]]


def _weigh(blocks: Iterable[Block], scheme: WeightScheme, sharding: Sharding, tiles: Tiles) -> Counter[str]:
    groups: Counter[str] = Counter()
    for block in blocks:
        for tensor in block.tensors():
            groups[tensor.group] += tensor_bytes(tensor, scheme, sharding, tiles)
    return groups
