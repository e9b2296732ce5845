"""Compressed attention of DeepSeek-V4: a window of recent tokens, and older ones in groups of one entry each.

One vector of `head_dim` values serves all query heads as key and as value. A layer keeps it for the last
`window` tokens; a compressor beside it turns each `ratio` tokens into one more entry: with ratio 4 an indexer
picks which of these are read (CSA), with ratio 128 all are (HCA). In DeepSeek-V4.1 (CSA2) few layers have a
compressor, whose entries the layers after it read too. Layouts as in Hugging Face's `DeepseekV4Attention` and
vLLM's `DeepseekCompressor`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.architecture.blocks.legal import division_refusal
from planner.architecture.caches import Cache, TokenCache
from planner.architecture.mixing import Mixing, scoring
from planner.architecture.tensors import Sharding, Split, Tensor

# vLLM's FP8 entry: FP8 values with a one-byte scale for each 64, padded to 8, and the position part in BF16.
SCALED, SCALE_PADDING = 64, 8
STATE_BYTES = 4  # The sums of tokens that do not fill a group yet are kept in FP32.
STATE_ROWS = 8  # The fewest tokens that vLLM keeps such sums for.
INDEX_SCALE_BYTES = 4

Packed = tuple[tuple[str, int], ...]


def packed_entry(head_dim: int, rope_dim: int) -> Packed:
    """Return the bytes of one FP8 entry of DeepSeek-V4, by KV dtype.

    Parameters
    ----------
    head_dim, rope_dim : int
        Values of an entry, and how many of them carry the position.

    Returns
    -------
    tuple of (str, int)
    """
    scaled = head_dim - rope_dim
    scales = -(-scaled // (SCALED * SCALE_PADDING)) * SCALE_PADDING
    entry = scaled + scales + 2 * rope_dim
    return (("fp8", entry), ("fp8_ds_mla", entry))


def _column(name: str, rows: int, cols: int, units: int, fixed_format: str | None = None) -> Tensor:
    return Tensor(name, "attention", rows, cols, split=Split.COLUMN, units=units, fixed_format=fixed_format)


@dataclass(frozen=True, slots=True)
class SharedVectorAttention:
    """Attention whose keys and values are one vector for each token, over a window of them.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    heads, head_dim : int
        Query heads, and width of a query and of the shared vector.
    q_lora : int
        Width of the compressed query.
    out_groups, out_lora : int
        Groups of heads that are each projected to `out_lora` values before the output projection.
    window : int
        Tokens that the layer keeps.
    packed : tuple of (str, int)
        KV dtypes with the bytes of a vector where a layout is not ``head_dim`` values, see `packed_entry`.
    compressed : TokenCache or None
        The compressed entries that it reads as well: of a compressor beside it, or of an earlier layer.
    top_k : int or None
        How many of them an indexer lets it read; None for all.
    """

    hidden: int
    heads: int
    head_dim: int
    q_lora: int
    out_groups: int
    out_lora: int
    window: int
    packed: Packed
    compressed: TokenCache | None = None
    top_k: int | None = None

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        width, narrow = self.heads * self.head_dim, self.out_groups * self.out_lora
        group_width = width // self.out_groups
        return (
            Tensor("q_a_proj", "attention", self.q_lora, self.hidden),
            Tensor("q_a_norm", "norm", self.q_lora, quantisable=False),
            _column("q_b_proj", width, self.q_lora, units=self.heads),
            Tensor("kv_proj", "attention", self.head_dim, self.hidden),
            Tensor("kv_norm", "norm", self.head_dim, quantisable=False),
            _column("o_a_proj", narrow, group_width, units=self.out_groups),
            Tensor("o_b_proj", "attention", self.hidden, narrow, split=Split.ROW, units=self.out_groups),
            _column("sinks", self.heads, 1, units=self.heads, fixed_format="f32"),
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the shared vectors of the window."""
        return (self._window(),)

    def _window(self) -> TokenCache:
        return TokenCache(
            "window",
            heads=1,
            width=self.head_dim,
            replicated=True,
            window=self.window,
            packed_bytes=self.packed,
        )

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the attention over the window and over the compressed entries."""
        parts = [self._over(self._window(), None)]
        if self.compressed is not None:
            parts.append(replace(self._over(self.compressed, self.top_k), shared=True))
        return tuple(parts)

    def _over(self, cache: TokenCache, top_k: int | None) -> Mixing:
        pair = 2 * 2 * self.head_dim
        return Mixing(
            "shared_vector",
            self.heads,
            1,
            self.head_dim,
            self.head_dim,
            cache,
            prefill_pair_flops=pair,
            decode_pair_flops=pair,
            top_k=top_k,
        )

    def refusal(self, sharding: Sharding) -> str | None:
        """Return why this sharding is impossible for the block, or None when it is possible."""
        reason = division_refusal("attention heads", self.heads, sharding.tp, "TP")
        return reason or division_refusal("groups of the output", self.out_groups, sharding.tp, "TP")


@dataclass(frozen=True, slots=True)
class Compressor:
    """A learnt weighted mean that turns each `ratio` tokens into one entry; every rank computes all of it.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    head_dim : int
        Values of an entry.
    ratio : int
        Tokens that share one entry; a ratio of 1 has nothing to weigh, and so no gate and no sums.
    packed : tuple of (str, int)
        KV dtypes with the bytes of an entry where a layout is not ``head_dim`` values.
    overlap : bool
        Whether an entry also sees the tokens of the one before, through projections of twice the width.
    index : bool
        Whether the entries are the keys of an indexer, kept in FP8 with an FP32 scale, whatever the KV dtype.
    positions : bool
        Whether each place in a group has a learnt bias, in FP32.
    """

    hidden: int
    head_dim: int
    ratio: int
    packed: Packed = ()
    overlap: bool = False
    index: bool = False
    positions: bool = True

    @property
    def _width(self) -> int:
        return self.head_dim * (2 if self.overlap else 1)

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        group = "indexer" if self.index else "compressor"
        prefix = "indexer.compressor." if self.index else "compressor."
        parts = [
            Tensor(f"{prefix}kv_proj", group, self._width, self.hidden, quantisable=False),
            Tensor(f"{prefix}kv_norm", "norm", self.head_dim, quantisable=False),
        ]
        if self.ratio > 1:
            parts.append(Tensor(f"{prefix}gate_proj", group, self._width, self.hidden, quantisable=False))
        if self.positions:
            parts.append(
                Tensor(
                    f"{prefix}position_bias",
                    group,
                    self.ratio,
                    self._width,
                    fixed_format="f32",
                    multiplied=False,
                )
            )
        return tuple(parts)

    def caches(self) -> tuple[Cache, ...]:
        """Return the entries, and the sums of the tokens whose entry is not complete."""
        return (self.entries(),) if self.ratio == 1 else (self.entries(), self._sums())

    def entries(self) -> TokenCache:
        """Return the compressed entries."""
        if self.index:
            key_bytes = self.head_dim + INDEX_SCALE_BYTES
            return TokenCache("index", 1, 0, replicated=True, stride=self.ratio, extra_bytes=key_bytes)
        return TokenCache(
            "compressed",
            heads=1,
            width=self.head_dim,
            replicated=True,
            stride=self.ratio,
            packed_bytes=self.packed,
        )

    def _sums(self) -> TokenCache:
        # A value and a gate for each channel and token of the group being filled and of the one it overlaps.
        return TokenCache(
            "window",
            heads=1,
            width=0,
            replicated=True,
            window=max(self.ratio * (2 if self.overlap else 1), STATE_ROWS),
            extra_bytes=2 * self._width * STATE_BYTES,
        )

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the reading of the sums, which each token adds to and each full group empties."""
        if self.ratio == 1:
            return ()
        # A group is read once for each `ratio` tokens, with the one before where they overlap.
        reads = 2 if self.overlap else 1
        width = self._width
        return (Mixing("compress", 1, 1, width, width, self._sums(), top_k=reads, replicated=True),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: every rank holds the whole compressor."""
        return None


@dataclass(frozen=True, slots=True)
class CompressedIndexer:
    """An indexer that picks which compressed entries are read, with a compressor for its own keys.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    q_lora : int
        Width of the compressed query that the index queries come from.
    heads : int
        Index heads.
    top_k : int
        Entries that the attention reads.
    keys : Compressor
        What makes the index keys.
    """

    hidden: int
    q_lora: int
    heads: int
    top_k: int
    keys: Compressor

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        return (
            Tensor("indexer.wq_b", "indexer", self.heads * self.keys.head_dim, self.q_lora),
            Tensor("indexer.weights_proj", "indexer", self.heads, self.hidden, quantisable=False),
            *self.keys.tensors(),
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the index keys and what is needed to go on with them."""
        return self.keys.caches()

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the scoring of every key, and what the keys' compressor reads."""
        score = scoring(self.heads, self.keys.head_dim, self.keys.entries(), None)
        return (replace(score, shared=True), *self.keys.mixings())

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: every rank holds the whole indexer."""
        return None


@dataclass(frozen=True, slots=True)
class LatentIndexer:
    """An indexer of DeepSeek-V4.1, whose keys are projections of the compressed entries themselves.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    q_lora : int
        Width of the compressed query that the index queries come from.
    heads, head_dim : int
        Index heads, and width of an index key.
    top_k : int
        Entries that the attention reads.
    latent : int
        Values of a compressed entry.
    ratio : int
        Tokens that share one entry.
    owns_keys : bool
        Whether the layer makes keys; others score the keys of an earlier layer.
    """

    hidden: int
    q_lora: int
    heads: int
    head_dim: int
    top_k: int
    latent: int
    ratio: int
    owns_keys: bool

    def tensors(self) -> tuple[Tensor, ...]:
        """Return the weights of the block."""
        scorer = (
            Tensor("indexer.wq_b", "indexer", self.heads * self.head_dim, self.q_lora),
            Tensor("indexer.weights_proj", "indexer", self.heads, self.hidden, quantisable=False),
        )
        if not self.owns_keys:
            return scorer
        return (
            *scorer,
            Tensor("indexer.wk", "indexer", self.head_dim, self.latent, quantisable=False),
            Tensor("indexer.k_norm", "indexer", self.head_dim, quantisable=False),
        )

    def caches(self) -> tuple[Cache, ...]:
        """Return the index keys: FP8 with an FP32 scale; beside an FP4 cache FP4 with a scale for each 32."""
        if not self.owns_keys:
            return ()
        return (self._keys(),)

    def _keys(self) -> TokenCache:
        fp8 = self.head_dim + INDEX_SCALE_BYTES
        packed = (
            *((dtype, fp8) for dtype in ("bf16", "fp8", "fp8_ds_mla")),
            ("nvfp4", self.head_dim // 2 + self.head_dim // 32),
        )
        return TokenCache("index", 1, self.head_dim, replicated=True, stride=self.ratio, packed_bytes=packed)

    def mixings(self) -> tuple[Mixing, ...]:
        """Return the scoring of every key."""
        score = scoring(self.heads, self.head_dim, self._keys(), None)
        return (replace(score, shared=not self.owns_keys),)

    def refusal(self, sharding: Sharding) -> str | None:
        """Return None: every rank holds the whole indexer."""
        return None
