"""The work of mixing tokens: what attention and its relatives do beside their matrices.

A query meets the entries of a cache. How many it meets, what each meeting costs in FLOPs and what is read
for it follow from a few numbers, whatever the kind of attention. All methods take numbers or numpy arrays,
which broadcast; the arithmetic is plain, so that nothing here imports numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from planner.architecture.caches import StateCache, TokenCache

Amount: TypeAlias = Any
"""A number or a numpy array of numbers."""

_NO_DTYPES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Mixing:
    """One kernel that mixes tokens, with all its heads.

    Parameters
    ----------
    kind : str
        The kernel: ``gqa``, ``mla``, ``cross``, ``index``, ``shared_vector``, ``compress``, ``gdn``, ``kda``,
        ``lightning``, ``mamba2`` or ``conv``.
    heads, kv_heads : int
        Query heads, and the heads of keys that they share.
    key_dim, value_dim : int
        Width of a key and of a value as they are cached.
    cache : TokenCache, StateCache or None
        What it reads; None where that does not depend on the text.
    prefill_pair_flops, decode_pair_flops : int
        FLOPs of one head for one query and one entry. Latents are expanded to keys and values in prefill and
        read as they are in decode, so the two differ.
    token_flops : int
        FLOPs of one head and token, whatever the context.
    expand_flops : int
        FLOPs of one head to bring a cached entry back into a key and a value before a prefill can use it.
    chunk : int or None
        A query sees only the tokens of its own chunk of this size.
    top_k : int or None
        Entries that a query meets at most.
    selects : int or None
        Set for an indexer: entries that the other mixings of its layer then meet at most.
    shared : bool
        Whether another layer or block writes the cache.
    replicated : bool
        Whether every tensor-parallel rank works on all heads.
    """

    kind: str
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    cache: TokenCache | StateCache | None
    prefill_pair_flops: int = 0
    decode_pair_flops: int = 0
    token_flops: int = 0
    expand_flops: int = 0
    chunk: int | None = None
    top_k: int | None = None
    selects: int | None = None
    shared: bool = False
    replicated: bool = False

    def rank_heads(self, tp: int) -> int:
        """Return the query heads of one rank, at least one.

        Parameters
        ----------
        tp : int
            Tensor-parallel size.

        Returns
        -------
        int
        """
        return self.heads if self.replicated else max(1, -(-self.heads // tp))

    def rank_kv_heads(self, tp: int) -> int:
        """Return the key heads of one rank; fewer than ranks are replicated.

        Parameters
        ----------
        tp : int
            Tensor-parallel size.

        Returns
        -------
        int
        """
        return self.kv_heads if self.replicated else max(1, -(-self.kv_heads // tp))

    @property
    def state(self) -> StateCache | None:
        """Return the constant state that it reads and writes, or None."""
        return self.cache if isinstance(self.cache, StateCache) else None

    @property
    def entries(self) -> TokenCache | None:
        """Return the cache whose entries the queries meet, or None."""
        return self.cache if isinstance(self.cache, TokenCache) else None

    @property
    def most(self) -> int | None:
        """Return the entries that a query meets at most, or None where there is no end."""
        entries = self.entries
        window = entries.window // entries.stride if entries and entries.window else None
        return min((limit for limit in (window, self.top_k) if limit is not None), default=None)

    def limited(self, entries: int) -> Mixing:
        """Return the same mixing where an indexer picks what it reads; it reads latents as they are.

        Parameters
        ----------
        entries : int
            Entries that a query meets at most.

        Returns
        -------
        Mixing
        """
        if self.entries is None:
            return self
        return replace(self, top_k=entries, prefill_pair_flops=self.decode_pair_flops, expand_flops=0)

    def attended(self, context: Amount) -> Amount:
        """Return the entries that the last token of a context meets, itself included.

        Parameters
        ----------
        context : number or array
            Tokens in context.

        Returns
        -------
        number or array
            Entries; 0 for a constant state.
        """
        if self.entries is None:
            return context * 0
        if self.chunk is not None:
            return (context - 1) % self.chunk + 1
        stride = self.entries.stride
        return _at_most(context if stride == 1 else context // stride, self.most)

    def pairs(self, cached: Amount, new: Amount) -> Amount:
        """Return the (query, entry) pairs of a causal prefill.

        Parameters
        ----------
        cached, new : number or array
            Tokens already in the cache, and new tokens after them.

        Returns
        -------
        number or array
            The sum of `attended` over the new tokens, exact for whole numbers.
        """
        return self._cumulated(cached + new) - self._cumulated(cached)

    def _cumulated(self, tokens: Amount) -> Amount:
        """Return the sum of `attended` over the contexts 1 to `tokens`."""
        if self.entries is None:
            return tokens * 0
        if self.chunk is not None:
            whole, rest = tokens // self.chunk, tokens % self.chunk
            return (whole * self.chunk * (self.chunk + 1) + rest * (rest + 1)) / 2
        stride, most = self.entries.stride, self.most
        if most is None:
            return _floor_sum(tokens, stride)
        # Up to this context nothing is cut off.
        free = _at_most(tokens, most * stride)
        return _floor_sum(free, stride) + most * (tokens - free)

    def spanned(self, cached: Amount, new: Amount) -> Amount:
        """Return the entries that at least one of the new tokens meets.

        Parameters
        ----------
        cached, new : number or array
            As for `pairs`.

        Returns
        -------
        number or array
            Entries; an upper bound for sparse attention, whose tokens may choose the same ones.
        """
        entries, total = self.entries, cached + new
        if entries is None:
            return total * 0
        if self.chunk is not None:
            # From the start of the first new token's chunk.
            return total - cached // self.chunk * self.chunk
        reach = _at_most(total, None if entries.window is None else entries.window + new - 1)
        reach = reach if entries.stride == 1 else reach // entries.stride
        return reach if self.top_k is None else _at_most(reach, self.top_k * new)

    def decode_flops(self, context: Amount, tp: int = 1) -> Amount:
        """Return the FLOPs of one token on one rank.

        Parameters
        ----------
        context : number or array
            Tokens in context, the token itself included.
        tp : int
            Tensor-parallel size.

        Returns
        -------
        number or array
            FLOPs beside the matrices.
        """
        return self.rank_heads(tp) * (self.decode_pair_flops * self.attended(context) + self.token_flops)

    def prefill_flops(self, cached: Amount, new: Amount, tp: int = 1) -> Amount:
        """Return the FLOPs of a prefill on one rank.

        Parameters
        ----------
        cached, new : number or array
            Tokens already in the cache, and new tokens after them.
        tp : int
            Tensor-parallel size.

        Returns
        -------
        number or array
            FLOPs beside the matrices; where latents are expanded, those of the cached tokens count here.
        """
        work = self.prefill_pair_flops * self.pairs(cached, new) + self.token_flops * new
        return self.rank_heads(tp) * (work + self.expand_flops * cached)

    def entry_bytes(self, kv_dtype: str, tp: int = 1, dcp: int = 1) -> float:
        """Return the bytes of one entry on one rank.

        Parameters
        ----------
        kv_dtype : str
            Dtype of the cache.
        tp, dcp : int
            Tensor-parallel and decode-context parallel size; the latter divides caches that grow.

        Returns
        -------
        float
            Bytes; 0 for a constant state.
        """
        if self.entries is None:
            return 0.0
        return self.entries.entry_bytes(kv_dtype, tp) / (dcp if self.entries.grows else 1)

    def state_bytes(self, tp: int = 1, dtypes: Mapping[str, str] = _NO_DTYPES) -> int:
        """Return the bytes of one request's state on one rank; each step reads and writes it.

        Parameters
        ----------
        tp : int
            Tensor-parallel size.
        dtypes : mapping of str to str
            Dtypes that replace a tensor's own, by tensor name.

        Returns
        -------
        int
            Bytes; 0 for a cache with entries.
        """
        return 0 if self.state is None else self.state.request_bytes(tp, dtypes)

    def decode_read_bytes(self, context: Amount, kv_dtype: str, tp: int = 1, dcp: int = 1) -> Amount:
        """Return the cache bytes that one rank reads to decode one token.

        Parameters
        ----------
        context : number or array
            Tokens in context.
        kv_dtype : str
            Dtype of the cache.
        tp, dcp : int
            Tensor-parallel and decode-context parallel size.

        Returns
        -------
        number or array
            Bytes.
        """
        return self.attended(context) * self.entry_bytes(kv_dtype, tp, dcp) + self.state_bytes(tp)

    def write_bytes(self, kv_dtype: str, tp: int = 1, dcp: int = 1) -> float:
        """Return the cache bytes that one rank writes for one decoded token.

        Parameters
        ----------
        kv_dtype : str
            Dtype of the cache.
        tp, dcp : int
            Tensor-parallel and decode-context parallel size.

        Returns
        -------
        float
            Bytes: one entry, or the whole state.
        """
        if self.shared or self.cache is None:
            return 0.0
        if self.entries is None:
            return float(self.state_bytes(tp))
        return self.entry_bytes(kv_dtype, tp, dcp) / self.entries.stride


def recurrence(
    kind: str, heads: int, key_dim: int, value_dim: int, state: StateCache, *, products: int
) -> Mixing:
    """Return the mixing of a linear attention with one state matrix for each head.

    Parameters
    ----------
    kind : str
        The kernel.
    heads : int
        Heads with a state of their own.
    key_dim, value_dim : int
        Sides of the state.
    state : StateCache
        What a request keeps.
    products : int
        Multiply-adds of each state element and token: 2 to write and read it, 3 where a delta rule also reads
        what is to be replaced. Decays are not counted.

    Returns
    -------
    Mixing
    """
    work = 2 * products * key_dim * value_dim
    return Mixing(kind, heads, heads, key_dim, value_dim, state, token_flops=work)


def scoring(heads: int, head_dim: int, keys: TokenCache, selects: int | None) -> Mixing:
    """Return the mixing of an indexer: the product of each index query with every key, on every rank.

    Parameters
    ----------
    heads, head_dim : int
        Index heads, 0 where the layer reuses an earlier choice; and the width of a key.
    keys : TokenCache
        The keys.
    selects : int or None
        Entries that the attention beside it then reads, where the layer does not say itself.

    Returns
    -------
    Mixing
    """
    return Mixing(
        "index",
        heads,
        1,
        head_dim,
        0,
        keys if heads else None,
        prefill_pair_flops=2 * head_dim,
        decode_pair_flops=2 * head_dim,
        selects=selects,
        replicated=True,
    )


def _at_most(amount: Amount, limit: Amount | None) -> Amount:
    """Return the smaller one, for numbers and arrays alike."""
    return amount if limit is None else limit + (amount - limit) * (amount < limit)


def _floor_sum(tokens: Amount, stride: int) -> Amount:
    """Return the sum of ``n // stride`` for n from 1 to `tokens`."""
    if stride == 1:
        return tokens * (tokens + 1) / 2
    whole = tokens // stride
    return stride * whole * (whole - 1) / 2 + whole * (tokens - stride * whole + 1)
