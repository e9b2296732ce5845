"""What a block keeps for a running request: entries for each token, or one constant state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from planner.architecture.formats import CACHE_BYTES
from planner.errors import Unsupported


@dataclass(frozen=True, slots=True)
class TokenCache:
    """A cache with entries for the tokens of a request.

    Parameters
    ----------
    kind : str
        ``full``, ``window``, ``latent``, ``compressed`` or ``index``; engines group layers by it.
    heads : int
        KV heads; 1 for a latent.
    width : int
        Elements of one entry and head, keys and values together (2 x head_dim; 576 for DeepSeek's latent).
    replicated : bool
        Whether each tensor-parallel rank holds all of it (latents), instead of its own heads.
    window : int or None
        Tokens after which it stops growing.
    stride : int
        Tokens that share one entry (compressed attention).
    packed_bytes : tuple of (str, int)
        KV dtypes with the bytes of an entry and head where a layout is not ``width * bytes``, such as
        ``fp8_ds_mla`` with 656 bytes.
    extra_bytes : int
        Bytes of an entry whatever the KV dtype, such as 132 for the FP8 keys of a sparse indexer.
    """

    kind: str
    heads: int
    width: int
    replicated: bool = False
    window: int | None = None
    stride: int = 1
    packed_bytes: tuple[tuple[str, int], ...] = ()
    extra_bytes: int = 0

    def entry_bytes(self, kv_dtype: str, tp: int = 1) -> float:
        """Return the bytes of one entry on one rank.

        Parameters
        ----------
        kv_dtype : str
            A key of `CACHE_BYTES` or of `packed_bytes`.
        tp : int
            Tensor-parallel size. Heads fewer than ranks are replicated.

        Returns
        -------
        float
            Bytes.

        Raises
        ------
        Unsupported
            When the KV dtype is unknown.
        """
        heads = self.heads if self.replicated else max(1, -(-self.heads // tp))
        packed = dict(self.packed_bytes).get(kv_dtype)
        if packed is not None:
            return heads * packed + self.extra_bytes
        # A layout that only latents have: other layers of the same model keep plain FP8.
        element = CACHE_BYTES.get("fp8" if kv_dtype == "fp8_ds_mla" else kv_dtype)
        if element is None:
            known = ", ".join(sorted({*CACHE_BYTES, "fp8_ds_mla"}))
            raise Unsupported(f"unknown KV dtype {kv_dtype!r}; one of: {known}")
        return heads * self.width * element + self.extra_bytes

    def entries(self, tokens: int) -> int:
        """Return how many entries a request of `tokens` tokens keeps.

        Parameters
        ----------
        tokens : int
            Tokens in context.

        Returns
        -------
        int
            Entries: the window at most, and one for each whole stride.
        """
        kept = tokens if self.window is None else min(tokens, self.window)
        return kept // self.stride

    @property
    def grows(self) -> bool:
        """Return whether it grows with the context without end."""
        return self.window is None


@dataclass(frozen=True, slots=True)
class StateTensor:
    """One constant tensor of a recurrent state.

    Parameters
    ----------
    name : str
        ``conv`` or ``ssm``.
    elements : int
        Elements for one request, all ranks together.
    units : int
        Heads or groups that tensor parallelism divides; fewer than ranks are replicated. 0 divides freely.
    dtype : str
        Format of the elements by default: ``f32`` or ``bf16``.
    """

    name: str
    elements: int
    units: int
    dtype: str

    def rank_elements(self, tp: int) -> int:
        """Return the elements that one rank holds.

        Parameters
        ----------
        tp : int
            Tensor-parallel size.

        Returns
        -------
        int
            Elements.
        """
        if not self.units:
            return -(-self.elements // tp)
        return self.elements // self.units * max(1, -(-self.units // tp))


@dataclass(frozen=True, slots=True)
class StateCache:
    """A constant state that a request keeps, whatever its length (linear attention, Mamba).

    Parameters
    ----------
    kind : str
        ``gdn``, ``kda``, ``mamba2``, ``lightning`` or ``conv``.
    tensors : tuple of StateTensor
        Its parts.
    """

    kind: str
    tensors: tuple[StateTensor, ...]

    def request_bytes(self, tp: int = 1, dtypes: Mapping[str, str] = MappingProxyType({})) -> int:
        """Return the bytes of one request's state on one rank.

        Parameters
        ----------
        tp : int
            Tensor-parallel size.
        dtypes : mapping of str to str
            Dtypes that replace a tensor's own, by tensor name.

        Returns
        -------
        int
            Bytes.
        """
        return sum(
            int(part.rank_elements(tp) * CACHE_BYTES[dtypes.get(part.name, part.dtype)])
            for part in self.tensors
        )


Cache = TokenCache | StateCache
