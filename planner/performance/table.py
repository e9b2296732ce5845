"""The FLOPs and bytes of every operator of a model, for many operating points at once.

Rows are operators, columns are operating points. Each row is linear in the tokens that it serves, with
weights that are read once for a pass; of experts only those are read that a token chose,
E (1 - (1 - k/E)^tokens) of E where k are chosen at random. Attention asks its mixing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.architecture.messages import ACTIVATION_BYTES
from planner.architecture.mixing import Mixing
from planner.performance.operators import VECTORS, Operator, Operators, SentMessage

Array: TypeAlias = NDArray[np.float64]
Points: TypeAlias = float | Array

NORM_PASSES = 4
"""A norm reads and writes its input and the residual stream."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one attention rank does in one forward pass: numbers, or arrays with one value for each point.

    Parameters
    ----------
    sequences : number or array
        Requests that decode.
    context : number or array
        Their mean context [tokens].
    queries : number or array
        Tokens of each of them in this pass: 1, and those drafted before.
    prefills : number or array
        Requests that prefill in this pass.
    new, cached : number or array
        New tokens of each of those, and tokens before them [tokens].
    draft_passes : number or array
        How often the draft layers run for this pass.
    """

    sequences: Points
    context: Points
    queries: Points = 1.0
    prefills: Points = 0.0
    new: Points = 0.0
    cached: Points = 0.0
    draft_passes: Points = 0.0


@dataclass(frozen=True, slots=True)
class _Flow:
    """A step's tokens as the layers of the model, or of its draft, see them; arrays of one length."""

    sequences: Array
    context: Array
    queries: Array
    prefills: Array
    new: Array
    cached: Array
    passes: Array
    """How often the layers run."""

    @property
    def decoded(self) -> Array:
        """Return the tokens of decoding requests, over all passes."""
        return self.sequences * self.queries

    @property
    def tokens(self) -> Array:
        """Return all tokens, over all passes."""
        return self.decoded + self.prefills * self.new

    @property
    def sampled(self) -> Array:
        """Return the tokens that need logits: all decoded ones, and the last of each prefill."""
        return self.decoded + self.prefills


@dataclass(frozen=True, slots=True)
class _Rows:
    """Token-linear rows that serve the same tokens."""

    index: NDArray[np.intp]
    draft: bool
    serves: str
    """``tokens``, ``sampled``, or ``experts``."""
    experts: int = 0
    top_k: int = 0


class OperatorTable:
    """The operators of a model on one rank, with what each reads and computes as columns.

    Parameters
    ----------
    operators : Operators
        The rows, see `gather_operators`.

    Attributes
    ----------
    rows : tuple of Operator
        What each row is.
    count, stage, draft, n, k, weight_bytes, rank_experts : array
        Columns: how often the operator runs in a pass, its pipeline stage, whether it is part of the draft,
        its outputs and inputs on a rank, the bytes of its weights (of one expert), and experts on a rank.
    messages : tuple of SentMessage
        What is sent.
    message_count : array
        How often, in a pass.
    """

    def __init__(self, operators: Operators) -> None:
        self.hidden, self.sharding = operators.hidden, operators.sharding
        self.kv_dtype, self.state_dtypes = operators.kv_dtype, operators.state_dtypes
        self.rows = tuple(operators.operators)
        self.count = _column(operators.operators.values())
        self.stage = np.array([row.stage for row in self.rows])
        self.draft = np.array([row.draft for row in self.rows])
        self.n, self.k = _column(row.n for row in self.rows), _column(row.k for row in self.rows)
        self.weight_bytes = _column(row.weight_bytes for row in self.rows)
        self.rank_experts = _column(row.rank_experts for row in self.rows)
        self.messages: tuple[SentMessage, ...] = tuple(operators.messages)
        self.message_count = _column(operators.messages.values())
        # A pass costs a row these for each token, and for each time (or expert) that its weights are read.
        self._token_flops = self.count * _column(row.flops for row in self.rows)
        self._token_bytes = self.count * _column(_token_bytes(row) for row in self.rows)
        self._read_bytes = self.count * _column(
            0 if row.kind == "embedding" else row.weight_bytes for row in self.rows
        )
        self._groups = tuple(self._grouped())
        self._mixings = tuple((i, row, row.mixing) for i, row in enumerate(self.rows) if row.mixing)

    def select(self, *kinds: str, stage: int | None = None) -> NDArray[np.intp]:
        """Return the indices of rows.

        Parameters
        ----------
        *kinds : str
            Kinds of operators; none means all.
        stage : int, optional
            One pipeline stage.

        Returns
        -------
        array of int
        """
        return np.array(
            [
                i
                for i, row in enumerate(self.rows)
                if (not kinds or row.kind in kinds) and stage in (None, row.stage)
            ],
            dtype=np.intp,
        )

    def flops(self, step: Step) -> Array:
        """Return the FLOPs of each row.

        Parameters
        ----------
        step : Step
            N operating points.

        Returns
        -------
        array, shape (rows, N)
            FLOPs of one pass on one rank, of experts the mean over ranks [FLOP].
        """
        main, draft = self._flows(step)
        out = np.zeros((len(self.rows), main.tokens.size))
        for rows in self._groups:
            out[rows.index] = np.multiply.outer(
                self._token_flops[rows.index], self._served(rows, draft if rows.draft else main)
            )
        for i, row, mixing in self._mixings:
            out[i] = self.count[i] * self._mixing_flops(row, mixing, draft if row.draft else main)
        return out

    def bytes(self, step: Step) -> Array:
        """Return the bytes that each row reads and writes.

        Parameters
        ----------
        step : Step
            N operating points.

        Returns
        -------
        array, shape (rows, N)
            Weights, caches and activations of one pass on one rank [bytes].
        """
        main, draft = self._flows(step)
        out = np.zeros((len(self.rows), main.tokens.size))
        for rows in self._groups:
            flow = draft if rows.draft else main
            served = np.multiply.outer(self._token_bytes[rows.index], self._served(rows, flow))
            served += np.multiply.outer(self._read_bytes[rows.index], self._reads(rows, flow))
            out[rows.index] = served
        for i, row, mixing in self._mixings:
            out[i] = self.count[i] * self._mixing_bytes(row, mixing, draft if row.draft else main)
        return out

    def tokens(self, step: Step) -> Array:
        """Return how many tokens one run of each operator serves: the height of its matrix product.

        Parameters
        ----------
        step : Step
            N operating points.

        Returns
        -------
        array, shape (rows, N)
            Tokens; of experts the mean over those that any token chose; of attention those of its phase.
        """
        main, draft = self._flows(step)
        out = np.zeros((len(self.rows), main.tokens.size))
        for rows in self._groups:
            flow = draft if rows.draft else main
            out[rows.index] = self._served(rows, flow) / np.maximum(self._reads(rows, flow), 1e-9)
        for i, row, _ in self._mixings:
            flow = draft if row.draft else main
            served = flow.decoded if row.phase == "decode" else flow.prefills * flow.new
            out[i] = served / np.maximum(flow.passes, 1)
        return out

    def launches(self, step: Step) -> Array:
        """Return how many kernels each row starts.

        Parameters
        ----------
        step : Step
            N operating points.

        Returns
        -------
        array, shape (rows, N)
            Kernels of one pass, 0 for what other kernels read on the way.
        """
        main, draft = self._flows(step)
        out = np.empty((len(self.rows), main.tokens.size))
        for i, row in enumerate(self.rows):
            flow = draft if row.draft else main
            idle = {"decode": flow.decoded, "prefill": flow.prefills}.get(row.phase, flow.tokens) <= 0
            runs = 0 if row.kind in VECTORS else self.count[i]
            out[i] = np.where(idle, 0.0, runs * flow.passes)
        return out

    def message_bytes(self, step: Step) -> Array:
        """Return the bytes of one message of each kind; `message_count` says how many there are.

        Parameters
        ----------
        step : Step
            N operating points.

        Returns
        -------
        array, shape (messages, N)
            Bytes, as `Message.token_bytes` defines them.
        """
        main, draft = self._flows(step)
        out = np.empty((len(self.messages), main.tokens.size))
        for i, sent in enumerate(self.messages):
            flow = draft if sent.draft else main
            served = {"all": flow.tokens, "decode": flow.decoded, "sampled": flow.sampled}
            out[i] = sent.message.token_bytes * served[sent.message.tokens] / np.maximum(flow.passes, 1)
        return out

    def hit_experts(self, step: Step) -> Array:
        """Return how many experts of a rank any token chose.

        Parameters
        ----------
        step : Step
            N operating points.

        Returns
        -------
        array, shape (rows, N)
            Expected distinct experts in one pass of the model's layers; 0 for rows without experts.
        """
        main, draft = self._flows(step)
        out = np.zeros((len(self.rows), main.tokens.size))
        for rows in self._groups:
            if rows.serves == "experts":
                out[rows.index] = self._reads(rows, draft if rows.draft else main)
        return out

    def _grouped(self) -> Iterator[_Rows]:
        groups: dict[tuple[bool, str, int, int], list[int]] = {}
        for i, row in enumerate(self.rows):
            if row.mixing is None:
                serves = "experts" if row.experts else "sampled" if row.kind == "lm_head" else "tokens"
                groups.setdefault((row.draft, serves, row.experts, row.top_k), []).append(i)
        for (draft, serves, experts, top_k), index in groups.items():
            yield _Rows(np.array(index, dtype=np.intp), draft, serves, experts, top_k)

    def _flows(self, step: Step) -> tuple[_Flow, _Flow]:
        """Return the step of the model, and that of its draft, which decodes one token in each pass."""
        values = (
            step.sequences,
            step.context,
            step.queries,
            step.prefills,
            step.new,
            step.cached,
            step.draft_passes,
        )
        arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, dtype=float)) for value in values))
        sequences, context, queries, prefills, new, cached, passes = arrays
        main = _Flow(sequences, context, queries, prefills, new, cached, np.ones_like(sequences))
        drafting = prefills * (passes > 0)
        return main, _Flow(sequences, context, passes, drafting, new, cached, passes)

    def _served(self, rows: _Rows, flow: _Flow) -> Array:
        """Return the tokens that rows work on: of experts, how many (token, expert) pairs a rank has."""
        if rows.serves == "sampled":
            return flow.sampled
        if rows.serves == "tokens":
            return flow.tokens
        return flow.tokens * (self.sharding.dp * rows.top_k / self.sharding.ep)

    def _reads(self, rows: _Rows, flow: _Flow) -> Array:
        """Return how often weights are read: once in each pass, or once for each expert that is chosen."""
        if rows.serves != "experts":
            return np.where(flow.tokens > 0, flow.passes, 0.0)
        together = flow.tokens * self.sharding.dp / np.maximum(flow.passes, 1)
        missed = np.exp(together * np.log1p(-min(rows.top_k / rows.experts, 1 - 1e-12)))
        on_rank = -(-rows.experts // self.sharding.ep)
        return np.asarray(on_rank * (1 - missed) * flow.passes)

    def _mixing_flops(self, row: Operator, mixing: Mixing, flow: _Flow) -> Array:
        tp = self.sharding.tp
        if row.phase == "decode":
            work = flow.decoded * mixing.decode_flops(flow.context, tp)
            # Ranks that share a context score their own part of it.
            divided = mixing.replicated and mixing.entries is not None and mixing.entries.grows
            return np.asarray(work / (self.sharding.dcp if divided else 1))
        return np.asarray(flow.prefills * mixing.prefill_flops(flow.cached, flow.new, tp))

    def _mixing_bytes(self, row: Operator, mixing: Mixing, flow: _Flow) -> Array:
        """Return cache entries or states, read once for each request and pass, and queries and results."""
        sharding = self.sharding
        entry = mixing.entry_bytes(self.kv_dtype, sharding.tp, sharding.dcp)
        written = mixing.write_bytes(self.kv_dtype, sharding.tp, sharding.dcp) if mixing.entries else 0.0
        state = mixing.state_bytes(sharding.tp, self.state_dtypes)
        beside = written + ACTIVATION_BYTES * row.n * (mixing.key_dim + mixing.value_dim)
        if row.phase == "decode":
            # Draft layers read the context again in each pass; the model reads it once for all queries.
            read = flow.sequences * flow.passes * (mixing.attended(flow.context) * entry + state)
            return np.asarray(read + flow.decoded * (beside + state))
        read = mixing.spanned(flow.cached, flow.new) * entry + 2 * state
        return np.asarray(flow.prefills * (read + flow.new * beside))


def _token_bytes(row: Operator) -> int:
    """Return the activations that one token makes a row read and write [bytes]."""
    if row.kind in VECTORS or row.mixing is not None:
        return 0
    if row.kind == "norm":
        return NORM_PASSES * ACTIVATION_BYTES * row.n
    if row.kind == "embedding":
        return 2 * ACTIVATION_BYTES * row.k
    return ACTIVATION_BYTES * (row.n + row.k)


def _column(values: Iterable[int]) -> Array:
    return np.array(list(values), dtype=float)
