"""What a layer does in training: its matrix products, the widths that it touches and keeps, its parameters.

A dense decoder layer is a row of blocks, each of which projects the stream (matrices split by columns) and
projects back to it (split by rows). That is all that the time and the memory of a training step need to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from planner.architecture.mixing import Mixing
from planner.architecture.model import Architecture, Block, Layer
from planner.architecture.tensors import Sharding, Split, Tensor

Chosen = Callable[[Tensor], bool]
"""Whether a matrix is meant, such as one that gets an adapter."""


@dataclass(frozen=True, slots=True)
class Product:
    """One matrix product on one rank: tokens x `inputs` times `inputs` x `outputs`.

    Parameters
    ----------
    outputs, inputs : int
        Rows and columns of the matrix that the rank holds.
    """

    outputs: int
    inputs: int

    @property
    def elements(self) -> int:
        """Return the elements of the matrix."""
        return self.outputs * self.inputs


@dataclass(frozen=True, slots=True)
class LayerWork:
    """A layer as one rank of a tensor-parallel group works on it.

    Parameters
    ----------
    products : tuple of Product
        Matrix products of a token; matrices that read the same input are one.
    split_width : int
        Elements of one token that the ranks divide: outputs of the projections and inputs of the way back.
    mixed_width, plain_width : int
        Those of them that are inputs of the way back: of attention, and of blocks that mix no tokens.
    blocks : int
        Blocks that project the stream and back; each has a norm before it and a sum after it.
    parameters : int
        Of the layer, on this rank.
    matrix_parameters : int
        Those of its matrices.
    mixings : tuple of Mixing
        Its attention.
    """

    products: tuple[Product, ...]
    split_width: int
    mixed_width: int
    plain_width: int
    blocks: int
    parameters: int
    matrix_parameters: int
    mixings: tuple[Mixing, ...]


def training_refusal(architecture: Architecture) -> str | None:
    """Return why training of a model is not worked out, or None where it is.

    Parameters
    ----------
    architecture : Architecture
        The model.

    Returns
    -------
    str or None
        What it has beside dense layers with attention over keys and values.
    """
    if any(tensor.expert for tensor, _ in architecture.counted_tensors()):
        return "it has experts, whose dispatch and balance in training are not modelled"
    if architecture.towers:
        return "it has vision or audio towers"
    kinds = {mixing.kind for layer in architecture.layer_kinds() for mixing in layer.mixings()}
    if other := sorted(kinds - {"gqa"}):
        return f"its layers mix tokens by {', '.join(other)}, and not by attention over keys and values alone"
    for layer in architecture.layer_kinds():
        odd = [t.name for t in _matrices(layer) if t.split not in (Split.COLUMN, Split.ROW)]
        if odd:
            return f"its matrix {odd[0]} is on every rank"
    return None


@lru_cache(maxsize=4096)
def layer_work(layer: Layer, tp: int) -> LayerWork:
    """Return what one rank does in one layer.

    Parameters
    ----------
    layer : Layer
        A dense one (`training_refusal`).
    tp : int
        Tensor-parallel size.

    Returns
    -------
    LayerWork
    """
    products: list[Product] = []
    width = mixed = plain = blocks = 0
    for block in layer.blocks:
        found = _block_products(block, tp)
        if found:
            products += found
            blocks += 1
            width += _split_width(block, tp)
            back = sum(one.inputs for one, kind in _split(block, tp) if kind is Split.ROW)
            mixed, plain = (mixed + back, plain) if block.mixings() else (mixed, plain + back)
    held = [_elements(tensor, tp) for tensor in layer.tensors()]
    matrices = [_elements(tensor, tp) for tensor in _matrices(layer)]
    widths = (width, mixed, plain)
    return LayerWork(tuple(products), *widths, blocks, sum(held), sum(matrices), layer.mixings())


def adapters(layer: Layer, tp: int, rank: int, chosen: Chosen) -> tuple[Product, ...]:
    """Return the products of low-rank adapters: two thin matrices beside each chosen one.

    Parameters
    ----------
    layer : Layer
        A dense one.
    tp : int
        Tensor-parallel size; the side of an adapter that the matrix divides is divided with it.
    rank : int
        Width between the two.
    chosen : callable
        Which matrices get one.

    Returns
    -------
    tuple of Product
    """
    found: list[Product] = []
    for tensor in _matrices(layer):
        if chosen(tensor):
            _, rows, cols = tensor.rank_shape(Sharding(tp=tp))
            found += [Product(rank, cols), Product(rows, rank)]
    return tuple(found)


def outer_parameters(blocks: Iterable[Block], tp: int) -> int:
    """Return the parameters of blocks outside of the layers (embedding, head) on one rank."""
    return sum(_elements(tensor, tp) for block in blocks for tensor in block.tensors())


def matrix_names(architecture: Architecture) -> dict[str, str]:
    """Return the matrices of the layers by name, with the group of each (``attention``, ``dense_mlp``)."""
    return {t.name: t.group for layer in architecture.layer_kinds() for t in _matrices(layer)}


def _matrices(layer: Layer) -> list[Tensor]:
    return [tensor for tensor in layer.tensors() if tensor.multiplied and tensor.cols > 1]


def _elements(tensor: Tensor, tp: int) -> int:
    count, rows, cols = tensor.rank_shape(Sharding(tp=tp))
    return count * rows * cols


def _split(block: Block, tp: int) -> list[tuple[Product, Split]]:
    found = []
    for tensor in block.tensors():
        if tensor.multiplied and tensor.cols > 1:
            _, rows, cols = tensor.rank_shape(Sharding(tp=tp))
            found.append((Product(rows, cols), tensor.split))
    return found


def _split_width(block: Block, tp: int) -> int:
    return sum(one.outputs if kind is Split.COLUMN else one.inputs for one, kind in _split(block, tp))


def _block_products(block: Block, tp: int) -> list[Product]:
    """Return the products of a block; columns of the same input are one product, as frameworks fuse them."""
    split = _split(block, tp)
    fused: dict[int, int] = {}
    for one, kind in split:
        if kind is Split.COLUMN:
            fused[one.inputs] = fused.get(one.inputs, 0) + one.outputs
    ways_back = [one for one, kind in split if kind is Split.ROW]
    return [Product(outputs, inputs) for inputs, outputs in fused.items()] + ways_back
