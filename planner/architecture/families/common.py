"""What most families share: embedding, LM head and the list of layers."""

from __future__ import annotations

from planner.architecture.config import Config
from planner.architecture.model import Block, Weights, norm
from planner.architecture.tensors import Split, Tensor


def embedding(vocab_size: int, hidden: int) -> Weights:
    """Return the token embedding.

    Parameters
    ----------
    vocab_size, hidden : int
        Rows and columns of the table.

    Returns
    -------
    Weights
    """
    table = Tensor(
        "embed_tokens", "embed", vocab_size, hidden, active=0, split=Split.VOCAB, quantisable=False
    )
    return Weights((table,))


def lm_head(vocab_size: int, hidden: int, tied: bool, norms: int = 1) -> tuple[Block, ...]:
    """Return the final norm and the LM head.

    Parameters
    ----------
    vocab_size, hidden : int
        Rows and columns of the head.
    tied : bool
        Whether the head is the embedding table, so that nothing is stored here.
    norms : int
        Vectors of the final norm (2 with a bias).

    Returns
    -------
    tuple of Block
    """
    final = norm(*[hidden] * norms, name="final_norm")
    if tied:
        return (final,)
    return (final, Weights((Tensor("lm_head", "lm_head", vocab_size, hidden, split=Split.VOCAB),)))


def head_dim(config: Config) -> int:
    """Return the width of an attention head, from the field or from the hidden width.

    Parameters
    ----------
    config : Config
        The text configuration.

    Returns
    -------
    int
    """
    if "head_dim" in config:
        return config.size("head_dim")
    return config.size("hidden_size") // config.size("num_attention_heads")
