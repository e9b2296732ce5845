"""Weight tensors: shape, how often they occur, and how parallel ranks share them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from planner.architecture.formats import Format


class Split(Enum):
    """How the ranks of a tensor-parallel group share a tensor."""

    REPLICATED = "replicated"
    COLUMN = "column"  # output features (rows) are divided
    ROW = "row"  # input features (cols) are divided
    VOCAB = "vocab"  # rows are padded to a multiple of 64 and divided


VOCAB_PADDING = 64  # vLLM and SGLang pad the vocabulary to this multiple before dividing it.


@dataclass(frozen=True, slots=True)
class Sharding:
    """The parallel sizes of one deployment.

    Parameters
    ----------
    tp, pp, ep, dp, dcp : int
        Tensor, pipeline, expert, data-parallel attention and decode-context parallel sizes. Experts are
        shared by ``tp * dp`` ranks: `ep` of them hold different experts, and ``tp * dp / ep`` divide
        each expert's width.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    dcp: int = 1

    @property
    def ranks(self) -> int:
        """Return the number of GPUs of one deployment."""
        return self.tp * self.pp * self.dp

    @property
    def expert_tp(self) -> int:
        """Return over how many ranks the width of one expert is divided: 1 where `ep` exceeds the ranks."""
        return max(1, self.tp * self.dp // self.ep)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A weight tensor and its copies in one block.

    Parameters
    ----------
    name : str
        Its name in the checkpoint, without layer number, such as ``q_proj``.
    group : str
        The weight group it is counted in (see `docs/architecture.md`).
    rows, cols : int
        Output and input features; `cols` is 1 for a vector.
    count : int
        How many copies the block holds (experts, for one).
    active : int or None
        How many of the copies a token uses; None means all of them.
    split : Split
        How tensor-parallel ranks share it.
    units : int
        Heads along the divided side: a rank holds whole heads, and at least one, so heads fewer than ranks
        are replicated. 0 means that any division is possible.
    segments : tuple of (int, int)
        Sizes and heads of unlike parts of the divided side, each divided as `units` says (Mamba's heads and
        groups in one matrix).
    expert : bool
        Whether the copies are experts, shared over the expert-parallel ranks.
    fixed_format : str or None
        A format that no quantisation changes, such as ``f32`` for a router's bias.
    quantisable : bool
        Whether a quantisation of its group applies (false for convolutions, vectors and tables).
    shared_if_divides : int
        Ranks share the tensor only where their number divides this one, such as the heads of a vision tower;
        else each of them holds it all. 0 means that any number shares it.
    multiplied : bool
        False for a table whose rows are looked up or added.
    """

    name: str
    group: str
    rows: int
    cols: int = 1
    count: int = 1
    active: int | None = None
    split: Split = Split.REPLICATED
    units: int = 0
    segments: tuple[tuple[int, int], ...] = ()
    expert: bool = False
    fixed_format: str | None = None
    quantisable: bool = True
    shared_if_divides: int = 0
    multiplied: bool = True

    @property
    def parameters(self) -> int:
        """Return the number of parameters in all copies."""
        return self.rows * self.cols * self.count

    @property
    def active_parameters(self) -> int:
        """Return the number of parameters that one token uses."""
        return self.rows * self.cols * (self.count if self.active is None else self.active)

    @property
    def token_flops(self) -> int:
        """Return the FLOPs of one token: a multiply-add with each matrix element that it uses."""
        return 2 * self.active_parameters if self.multiplied and self.cols > 1 else 0

    @property
    def is_matrix(self) -> bool:
        """Return whether this is a matrix that a quantisation may change."""
        return self.quantisable and self.rows > 1 and self.cols > 1

    def checkpoint_bytes(self, fmt: Format) -> int:
        """Return the bytes of all copies in the checkpoint.

        Parameters
        ----------
        fmt : Format
            The storage format.

        Returns
        -------
        int
            Bytes with scales.
        """
        return self.count * fmt.matrix_bytes(self.rows, self.cols)

    def rank_shape(self, sharding: Sharding, tile: int = 1) -> tuple[int, int, int]:
        """Return copies, rows and columns that the fullest rank holds.

        Parameters
        ----------
        sharding : Sharding
            The parallel sizes.
        tile : int
            The divided side is padded to a multiple of this, as some kernels want it.

        Returns
        -------
        tuple of int
            Copies, rows, columns.
        """
        count = -(-self.count // sharding.ep) if self.expert else self.count
        ways = sharding.expert_tp if self.expert else sharding.tp
        if self.shared_if_divides % ways:
            return count, self.rows, self.cols
        rows, cols = self.rows, self.cols
        if self.split is Split.COLUMN:
            rows = self._share(rows, ways, tile)
        elif self.split is Split.ROW:
            cols = self._share(cols, ways, tile)
        elif self.split is Split.VOCAB and ways > 1:
            rows = -(-rows // VOCAB_PADDING) * VOCAB_PADDING // ways
        return count, rows, cols

    def rank_bytes(self, fmt: Format, sharding: Sharding, tile: int = 1) -> int:
        """Return the bytes that the fullest rank holds.

        Parameters
        ----------
        fmt : Format
            The storage format.
        sharding : Sharding
            The parallel sizes.
        tile : int
            Padding of the divided side, see `rank_shape`.

        Returns
        -------
        int
            Bytes with scales.
        """
        count, rows, cols = self.rank_shape(sharding, tile)
        return count * fmt.matrix_bytes(rows, cols)

    def _share(self, size: int, ways: int, tile: int) -> int:
        segments = self.segments or ((size, self.units or size),)
        share = sum(part // units * max(1, -(-units // ways)) for part, units in segments)
        return -(-share // tile) * tile
