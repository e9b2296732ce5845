"""What most families share: embedding, LM head and the list of layers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from planner.architecture.config import Config, head_width
from planner.architecture.model import Architecture, Block, Layer, Weights, norm
from planner.architecture.tensors import Split, Tensor
from planner.errors import InvalidInput


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
    table = Tensor("embed_tokens", "embed", vocab_size, hidden, active=0, split=Split.VOCAB)
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
    return head_width(config.size("hidden_size"), config.size("num_attention_heads"), config.where)


def listed_kinds(config: Config, key: str, known: Collection[str], layers: int | None = None) -> list[str]:
    """Return the kind of each layer from a list in the configuration.

    Parameters
    ----------
    config : Config
        The text configuration.
    key : str
        The field that holds the list.
    known : collection of str
        The kinds that the family has.
    layers : int, optional
        How many layers there must be.

    Returns
    -------
    list of str

    Raises
    ------
    InvalidInput
        When the list has another length or names an unknown kind.
    """
    kinds: list[str] = config.items(key, str, layers)
    for kind in kinds:
        if kind not in known:
            raise InvalidInput(f"{config.where}: {key} has {kind[:40]!r}; expected {' or '.join(known)}")
    return kinds


def draft_projection(hidden: int, split: Split = Split.REPLICATED) -> Weights:
    """Return the projection of a draft layer: hidden state and embedding side by side to the hidden width.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    split : Split
        How tensor-parallel ranks share it; vLLM replicates it in most families.

    Returns
    -------
    Weights
    """
    return Weights((Tensor("eh_proj", "eh_proj", hidden, 2 * hidden, split=split),))


def draft_copies(vocab_size: int, hidden: int) -> Weights:
    """Return the copies of embedding and LM head that some checkpoints store in the draft layer.

    Parameters
    ----------
    vocab_size, hidden : int
        Rows and columns of both tables.

    Returns
    -------
    Weights
    """
    return Weights(
        tuple(
            Tensor(name, "copies", vocab_size, hidden, split=Split.VOCAB, quantisable=False)
            for name in ("embed_tokens", "shared_head")
        )
    )


def stated_encoders(config: Config) -> tuple[Block, ...]:
    """Return encoders of which only the size is known (`encoder_parameters`, a field of the catalogue's own).

    Parameters
    ----------
    config : Config
        The configuration.

    Returns
    -------
    tuple of Block
        Empty when the field is absent; else one part that every rank holds.
    """
    size = config.count("encoder_parameters", default=0)
    return (Weights((Tensor("encoders", "vision", size, quantisable=False),)),) if size else ()


def state_dtype(config: Config) -> str | None:
    """Return the format of recurrent states, where the configuration names one.

    Parameters
    ----------
    config : Config
        The text configuration.

    Returns
    -------
    str or None
        ``f32`` or ``bf16``.

    Raises
    ------
    InvalidInput
        When it names another dtype.
    """
    formats = {"float32": "f32", "bfloat16": "bf16"}
    named = config.text("mamba_ssm_dtype", "mamba_ssm_cache_dtype", default="")
    if named and named not in formats:
        raise InvalidInput(
            f"{config.where}: recurrent state dtype {named[:40]!r}; expected {' or '.join(formats)}"
        )
    return formats.get(named)


def text_config(config: Config) -> Config:
    """Return the configuration of the language model inside a multimodal one.

    Parameters
    ----------
    config : Config
        The outer configuration. Where the inner one does not say whether embeddings are tied, the outer does.

    Returns
    -------
    Config
    """
    text = config.part("text_config", "llm_config")
    tied = config.values.get("tie_word_embeddings")
    if tied is None or "tie_word_embeddings" in text:
        return text
    return Config({**text.values, "tie_word_embeddings": tied}, text.where)


def windows(config: Config, layers: int, full_every: int = 1) -> list[int | None]:
    """Return the attention window of each layer.

    Parameters
    ----------
    config : Config
        The text configuration, with `layer_types` and, where layers slide, `sliding_window`.
    layers : int
        Number of layers.
    full_every : int
        Where no layer types are listed, one layer in this many is full, the last of each group.

    Returns
    -------
    list of int or None
        Tokens, or None for layers that see everything.
    """
    if "layer_types" in config:
        kinds = listed_kinds(config, "layer_types", ("full_attention", "sliding_attention"), layers)
    else:
        kinds = ["sliding_attention" if (i + 1) % full_every else "full_attention" for i in range(layers)]
    return [None if kind == "full_attention" else config.size("sliding_window") for kind in kinds]


def decoder(
    config: Config,
    mixers: Sequence[Sequence[Block]],
    feeds: Sequence[Block],
    *,
    family: str,
    draft: tuple[Layer, ...] = (),
    towers: tuple[Block, ...] = (),
    tied: bool = False,
) -> Architecture:
    """Return a decoder whose layers normalise the stream before the mixer and before the feed-forward block.

    Parameters
    ----------
    config : Config
        The text configuration.
    mixers : sequence of sequence of Block
        The attention of each layer, with what stands beside it such as an indexer.
    feeds : sequence of Block
        The feed-forward block of each layer.
    family : str
        Name of the family.
    draft : tuple of Layer
        Multi-token-prediction layers.
    towers : tuple of Block
        Vision towers.
    tied : bool
        Whether embeddings are tied where the configuration does not say.

    Returns
    -------
    Architecture
    """
    hidden, vocab = config.size("hidden_size"), config.size("vocab_size")
    shared = config.flag("tie_word_embeddings", tied)
    return Architecture(
        family=family,
        hidden_size=hidden,
        vocab_size=vocab,
        embedding=(embedding(vocab, hidden),),
        layers=tuple(
            Layer((norm(hidden), *mixer, norm(hidden), feed))
            for mixer, feed in zip(mixers, feeds, strict=True)
        ),
        head=lm_head(vocab, hidden, shared),
        draft=draft,
        towers=towers,
        tied_embeddings=shared,
        max_context=config.size("max_position_embeddings", "max_position_embedding"),
        state_dtype=state_dtype(config),
    )


def draft_entry(hidden: int, split: Split = Split.REPLICATED) -> tuple[Block, ...]:
    """Return what a draft layer has beside a decoder layer: its projection and three norms of its own.

    Parameters
    ----------
    hidden : int
        Width of the residual stream.
    split : Split
        How tensor-parallel ranks share the projection.

    Returns
    -------
    tuple of Block
        Norms of the embedding, of the hidden state and of the output, and the projection.
    """
    return (norm(hidden, hidden, hidden), draft_projection(hidden, split))
