"""The operators of one forward pass on one rank, gathered from the blocks of an architecture.

Matrices of a block that share their input are one operator, as engines fuse them (queries, keys and values;
gate and up); equal operators of different layers are one row with a count. Nothing here knows kinds of
blocks: tensors say how they are divided and used, mixings what attention costs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from planner.architecture import Architecture, Sharding
from planner.architecture.messages import Message, layer_messages, stage_message, weight_messages
from planner.architecture.mixing import Mixing
from planner.architecture.model import Block, Layer, Weights
from planner.architecture.quantisation import WeightScheme
from planner.architecture.tensors import Split, Tensor
from planner.memory.weights import COPIES, split_layers

NARROW = 16
"""Matrices with a side under this run as vector work (convolutions, gates), not on matrix units."""

MATRICES = ("gemm", "moe_gemm")
VECTORS = ("vector", "moe_vector")
"""Biases, decays, gates and convolutions: their bytes are read, by kernels that are counted elsewhere."""

FUSED = (*MATRICES, *VECTORS)


@dataclass(frozen=True, slots=True)
class Operator:
    """One kernel of a forward pass, as one rank runs it.

    Parameters
    ----------
    kind : str
        ``gemm``, ``moe_gemm``, ``lm_head``, ``embedding``, ``norm``, ``vector``, ``moe_vector``,
        ``attention``, ``index`` (scoring of an indexer) or ``linear_attention``.
    label : str
        Weight group and tensors, such as ``attention/q_proj+k_proj+v_proj``, or the kind of mixing.
    format, compute : str
        Storage format of the weights, and the dtype that matrix units run it in where they have it.
    n, k : int
        Outputs and inputs on a rank; of attention the heads and the width of a key.
    weight_bytes : int
        Bytes of the weights, of one expert where there are several.
    flops : int
        FLOPs of one token (of one token and expert for ``moe_gemm``).
    experts, top_k : int
        Experts of the model and how many a token uses; 0 where there are none.
    rank_experts : int
        Experts on the fullest rank.
    mixing : Mixing or None
        What attention of any kind does.
    phase : str
        ``decode``, ``prefill`` or ``both``: which tokens it serves.
    stage : int
        Pipeline stage.
    draft : bool
        Whether it belongs to draft layers, which run once for each drafted token.
    """

    kind: str
    label: str
    format: str = ""
    compute: str = ""
    n: int = 0
    k: int = 0
    weight_bytes: int = 0
    flops: int = 0
    experts: int = 0
    top_k: int = 0
    rank_experts: int = 0
    mixing: Mixing | None = None
    phase: str = "both"
    stage: int = 0
    draft: bool = False


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of one stage; see `Message`."""

    message: Message
    stage: int
    draft: bool


@dataclass(frozen=True, slots=True)
class Operators:
    """Everything that one rank of each stage does in a forward pass.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    operators : mapping of Operator to int
        Each with how often it runs in one pass.
    messages : mapping of SentMessage to int
        Each with how often it is sent in one pass.
    sharding : Sharding
        The parallel sizes.
    kv_dtype : str
        Dtype of the cache.
    state_dtypes : mapping of str to str
        Dtypes of recurrent states that differ from the architecture's.
    """

    hidden: int
    operators: Mapping[Operator, int]
    messages: Mapping[SentMessage, int]
    sharding: Sharding
    kv_dtype: str
    state_dtypes: Mapping[str, str]


def gather_operators(
    architecture: Architecture,
    scheme: WeightScheme,
    sharding: Sharding,
    *,
    kv_dtype: str = "bf16",
    draft: bool = False,
    stages: Sequence[range] | None = None,
    plain_layers: frozenset[int] = frozenset(),
    state_dtypes: Mapping[str, str] = MappingProxyType({}),
) -> Operators:
    """Return the operators of a model's forward pass.

    Parameters
    ----------
    architecture : Architecture
        The model.
    scheme : WeightScheme
        The formats of its weights.
    sharding : Sharding
        The parallel sizes.
    kv_dtype : str
        Dtype of the cache.
    draft : bool
        Whether the model's own draft layers run too.
    stages : sequence of range, optional
        Layers of each pipeline stage; None is the usual split.
    plain_layers : frozenset of int
        Layers that the scheme leaves in its default format.
    state_dtypes : mapping of str to str
        Dtypes of recurrent states that differ from the architecture's.

    Returns
    -------
    Operators
        Embedding in the first stage; LM head and draft in the last.
    """
    stages = stages or split_layers(len(architecture.layers), sharding.pp)
    gatherer = _Gatherer(sharding)
    plain = WeightScheme(scheme.name, scheme.default, {})
    for stage, layers in enumerate(stages):
        kinds = Counter((architecture.layers[index], index in plain_layers) for index in layers)
        for (layer, left), count in kinds.items():
            gatherer.layer(layer, plain if left else scheme, count, stage)
        passed_on = stage_message(architecture.hidden_size, sharding)
        if passed_on is not None and stage < len(stages) - 1:
            gatherer.messages[SentMessage(passed_on, stage, draft=False)] += 1
    gatherer.blocks(architecture.embedding, scheme, 1, stage=0)
    last = len(stages) - 1
    head = (*architecture.head, *_tied_head(architecture))
    gatherer.blocks(head, scheme, 1, last)
    if draft and architecture.draft:
        for layer, count in Counter(architecture.draft).items():
            gatherer.layer(layer, scheme, count, last, draft=True)
        gatherer.blocks(head, scheme, 1, last, draft=True)
    return Operators(
        architecture.hidden_size,
        gatherer.operators,
        gatherer.messages,
        sharding,
        kv_dtype,
        state_dtypes,
    )


def _tied_head(architecture: Architecture) -> tuple[Block, ...]:
    """Return the LM head that reads the embedding table, in the table's format."""
    if not architecture.tied_embeddings:
        return ()
    table = next(t for b in architecture.embedding for t in b.tensors() if t.rows >= architecture.vocab_size)
    rows, cols = architecture.vocab_size, architecture.hidden_size
    return (Weights((replace(table, name="lm_head", rows=rows, cols=cols, active=None),)),)


class _Gatherer:
    """Counts operators and messages of stages."""

    def __init__(self, sharding: Sharding) -> None:
        self.sharding = sharding
        self.operators: Counter[Operator] = Counter()
        self.messages: Counter[SentMessage] = Counter()

    def layer(self, layer: Layer, scheme: WeightScheme, count: int, stage: int, draft: bool = False) -> None:
        """Add a layer that occurs `count` times."""
        for block in layer.blocks:
            self._weights(block, scheme, count, stage, draft)
        for mixing in layer.mixings():
            for operator in _mix(mixing, self.sharding.tp):
                self.operators[replace(operator, stage=stage, draft=draft)] += count
        for message in layer_messages(layer, self.sharding):
            self.messages[SentMessage(message, stage, draft)] += count

    def blocks(
        self, blocks: Iterable[Block], scheme: WeightScheme, count: int, stage: int, draft: bool = False
    ) -> None:
        """Add blocks that stand before or after the layers."""
        for block in blocks:
            self._weights(block, scheme, count, stage, draft)
            for message in weight_messages(block.tensors(), self.sharding):
                self.messages[SentMessage(message, stage, draft)] += count

    def _weights(self, block: Block, scheme: WeightScheme, count: int, stage: int, draft: bool) -> None:
        # A draft's copies of tables are the model's own in every engine.
        tensors = [tensor for tensor in block.tensors() if tensor.group != COPIES]
        for operator, times in _multiply(tensors, scheme, self.sharding):
            self.operators[replace(operator, stage=stage, draft=draft)] += count * times


def _multiply(
    tensors: Iterable[Tensor], scheme: WeightScheme, sharding: Sharding
) -> Iterator[tuple[Operator, int]]:
    """Yield the operators of one block's weights and how often each occurs, fused as engines fuse them."""
    fused: defaultdict[tuple[object, ...], list[tuple[Tensor, Operator]]] = defaultdict(list)
    for tensor in tensors:
        operator = _operator(tensor, scheme, sharding)
        if operator.kind not in FUSED:
            yield operator, tensor.count
            continue
        # One kernel writes whole results or partial sums, not both.
        alone = tensor.name if tensor.split is Split.ROW else tensor.split
        cols = tensor.cols if operator.kind in MATRICES else 0
        fused[operator.kind, tensor.group, operator.format, alone, cols, tensor.count].append(
            (tensor, operator)
        )
    for members in fused.values():
        tensor, first = members[0]
        names = "+".join(dict.fromkeys(each.name for each, _ in members))
        yield (
            replace(
                first,
                label=f"{tensor.group}/{names}",
                n=sum(each.n for _, each in members),
                weight_bytes=sum(each.weight_bytes for _, each in members),
                flops=sum(each.flops for _, each in members),
            ),
            1 if tensor.expert else tensor.count,
        )


def _operator(tensor: Tensor, scheme: WeightScheme, sharding: Sharding) -> Operator:
    fmt = scheme.format_of(tensor)
    copies, rows, cols = tensor.rank_shape(sharding)
    kind = _kind(tensor)
    return Operator(
        kind=kind,
        label=f"{tensor.group}/{tensor.name}",
        format=fmt.name,
        compute=fmt.compute,
        n=rows,
        k=cols,
        weight_bytes=fmt.matrix_bytes(rows, cols),
        flops=2 * rows * cols if cols > 1 and kind != "embedding" else 0,
        experts=tensor.count if tensor.expert else 0,
        top_k=tensor.active or 0,
        rank_experts=copies if tensor.expert else 0,
    )


def _kind(tensor: Tensor) -> str:
    if tensor.expert:
        return "moe_gemm" if tensor.cols > 1 else "moe_vector"
    if tensor.active == 0 or not tensor.multiplied:
        return "embedding"
    if tensor.split is Split.VOCAB:
        return "lm_head"
    if min(tensor.rows, tensor.cols) >= NARROW:
        return "gemm"
    return "norm" if tensor.group.endswith("norm") else "vector"


def _mix(mixing: Mixing, tp: int) -> Iterator[Operator]:
    """Yield what a mixing does in decode and in prefill; nothing where it reads no cache."""
    if mixing.cache is None:
        return
    kind = "index" if mixing.kind == "index" else "attention"
    for phase in ("decode", "prefill"):
        yield Operator(
            kind="linear_attention" if mixing.state else kind,
            label=mixing.kind,
            n=mixing.rank_heads(tp),
            k=mixing.key_dim,
            mixing=mixing,
            phase=phase,
        )
