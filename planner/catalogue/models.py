"""The record of one model as `data/models.yaml` states it; the architecture room says what it means."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from planner.catalogue.figures import Record, Tuple


class Published(Record):
    """What the publisher of a model states, in the publisher's own rounding."""

    parameters: str | None = None
    active_parameters: str | None = None
    tensor_bytes: int | None = Field(default=None, gt=0)
    """Bytes of all tensors, as the index of the checkpoint gives them."""
    file_bytes: int | None = Field(default=None, gt=0)
    """Bytes of the safetensors files, headers included."""
    size: str | None = None


class Checks(Record):
    """Totals counted independently of planner's blocks, which the blocks must equal."""

    parameters: int | None = Field(default=None, gt=0)
    active_parameters: int | None = Field(default=None, gt=0)
    weight_bytes: int | None = Field(default=None, gt=0)
    kv_bytes_per_token_bf16: float | None = Field(default=None, ge=0)
    kv_bytes_per_token_fp8: float | None = Field(default=None, ge=0)
    state_bytes: int | None = Field(default=None, gt=0)
    attention_flops_per_pair: int | None = Field(default=None, gt=0)
    """FLOPs of a decoded token for each token in context, over all layers without a sliding window."""
    attention_prefill_flops_per_pair: int | None = Field(default=None, gt=0)
    """The same in prefill, where it differs."""


class Quantisation(Record):
    """One quantised variant of a model's weights."""

    formats: dict[str, str]
    """Format by weight group, or by `group/tensor`."""
    rest: Literal["bf16", "native"] = "bf16"
    """Format of everything else: BF16, or what the native checkpoint has."""
    smallest: int = Field(default=0, ge=0)
    """Matrices with a side under this are not quantised."""
    except_layers: tuple[int, ...] = Tuple
    """Layers, counted from 0, that are not quantised."""
    kv_dtype: str | None = None
    """Dtype of the KV cache where the checkpoint asks for one."""
    weight_bytes: int | None = Field(default=None, gt=0)
    """Bytes of the checkpoint, counted independently of planner's blocks."""
    status: Literal["published", "derived", "recalled", "inferred"]
    note: str | None = None
    checkpoints: tuple[str, ...] = Tuple


class Model(Record):
    """A model: its configuration, what it is called, and what its publisher says about it."""

    id: str
    name: str
    hf_repo: str | None = None
    released: str | None = None
    config_status: Literal["published", "recalled", "inferred", "partly inferred", "imported"]
    config_note: str | None = None
    max_context: int | None = Field(default=None, gt=0)
    aliases: tuple[str, ...] = Tuple
    """Names that say nothing about the weights' format."""
    quantised_aliases: dict[str, str] = Field(default_factory=dict)
    """Names that imply one of `quantisations`."""
    contexts: dict[str, int] = Field(default_factory=dict)
    """Longest request [tokens] of names whose checkpoint takes another one than `config` says."""
    config: dict[str, Any]
    """The Hugging Face `config.json`, trimmed."""
    weights: dict[str, str] = Field(default_factory=dict)
    """Format of the native checkpoint by weight group, where it is not BF16."""
    published: Published = Published()
    checks: Checks = Checks()
    quantisations: dict[str, Quantisation] = Field(default_factory=dict)
    sources: tuple[str, ...] = Tuple
    notes: tuple[str, ...] = Tuple

    @property
    def published_format(self) -> str:
        """Return the format of most of the checkpoint, as rows of measurements name it."""
        formats = set(self.weights.values())
        if not formats and self.config.get("quantization_config"):
            return "native"
        return formats.pop() if len(formats) == 1 else "native" if formats else "bf16"

    def called(self, name: str) -> Model:
        """Return the model under one of its names, with the longest request of that name's checkpoint.

        Parameters
        ----------
        name : str
            The id or an alias, in any case.

        Returns
        -------
        Model
            Itself, unless `contexts` lists the name.
        """
        asked = name.strip().casefold()
        longest = next((tokens for alias, tokens in self.contexts.items() if alias.casefold() == asked), None)
        if longest is None:
            return self
        config = {**self.config, "max_position_embeddings": longest}
        return self.model_copy(update={"max_context": longest, "config": config})
