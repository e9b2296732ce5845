"""What is asked: how a model is deployed, and what load it carries."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from planner.architecture import Sharding
from planner.errors import InvalidInput, shorten

LARGEST_SIZE = 4096
"""No published deployment uses a parallel size near this; a larger one is a slip of the keyboard."""

LARGEST_COUNT = 1 << 40


def _plain_number(value: Any) -> Any:
    """Refuse text and truth values, which pydantic would count; take whole numbers of numpy."""
    if isinstance(value, bool | str | bytes):
        raise ValueError("a number is needed")
    return operator.index(value) if hasattr(value, "__index__") else value


def _name(value: Any) -> Any:
    """Refuse what is no text, and text without a sign."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name is needed")
    return value


Plain = BeforeValidator(_plain_number)
Size = Annotated[int, Plain, Field(ge=1, le=LARGEST_SIZE)]
Count = Annotated[int, Plain, Field(ge=1, le=LARGEST_COUNT)]
Name = Annotated[str, BeforeValidator(_name)]
Share = Annotated[float, Plain, Field(gt=0, le=1)]


class Scenario(BaseModel):
    """Base of the input records: frozen, no unknown field, and one line for what is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return handler(data)
        except ValidationError as error:
            raise InvalidInput(_one_line(cls.__name__, error)) from None


def _one_line(record: str, error: ValidationError) -> str:
    """Say where the first complaint of pydantic is, what was given and what would be right."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(step) for step in first["loc"]) or "values"
    said = first["msg"].removeprefix("Value error, ")
    return f"{record} {field}: {shorten(first['input'])} is not possible: {said[0].lower()}{said[1:]}"


class Deployment(Scenario):
    """How a model runs: parallel sizes, dtypes, engine and the engine's options.

    One deployment is one copy of the model's experts. `dp` copies of attention share them, so the number of
    GPUs is ``tp * pp * dp``; SGLang's ``--tp 8 --dp 8 --enable-dp-attention`` is ``tp=1, dp=8`` here.
    """

    tp: Size = 1
    """Tensor-parallel size."""
    pp: Size = 1
    """Pipeline stages."""
    ep: Size = 1
    """Expert-parallel size: how many ranks hold different experts."""
    dp: Size = 1
    """Data-parallel copies of attention that share the experts."""
    dcp: Size = 1
    """Decode-context parallel size: ranks of a TP group that share the tokens of replicated KV."""
    weight_dtype: Name | None = None
    """Quantisation of the model; None is the checkpoint as published."""
    kv_dtype: Name = "auto"
    """Dtype of the KV cache; "auto" is what the engine picks."""
    engine: Name = "vllm"
    """Engine, with a version (``vllm==0.20.2``) or without."""
    memory_fraction: Share | None = None
    """The engine's memory fraction; None is its default in this version."""
    kv_cache_memory_bytes: Count | None = None
    """KV pool of one rank [bytes] where it is set by hand; the profile and the fraction are then unused."""
    max_num_batched_tokens: Count | None = None
    """Tokens of one step (vLLM), or of one prefill chunk (SGLang); None is the engine's default."""
    max_num_seqs: Count | None = None
    """Requests that run at once, at most."""
    block_size: Count | None = None
    """Tokens of one KV block; None is the engine's choice."""
    enforce_eager: bool = False
    """No CUDA graphs."""
    deduct_graphs: bool | None = None
    """Whether graph memory is taken off before the KV pool; None is the engine's default in this version."""
    prefix_caching: bool | None = None
    """Whether the engine keeps prefixes; None is its default for this model."""
    speculative_tokens: Annotated[int, Plain, Field(ge=0, le=64)] = 0
    """Tokens drafted for each step. Above 0 the checkpoint's own draft layers are loaded."""
    draft_model: Name | None = None
    """A separate draft model."""
    text_only: bool = False
    """Vision and audio towers are not loaded."""
    pipeline_layers: tuple[Size, ...] | None = None
    """Layers of each pipeline stage; None is the engine's own split."""

    ngl: Annotated[int, Plain, Field(ge=0, le=LARGEST_SIZE)] | None = None
    """llama.cpp's ``-ngl``: the output and so many layers less one are on the GPU; None is all."""
    n_cpu_moe: Annotated[int, Plain, Field(ge=0, le=LARGEST_SIZE)] | None = None
    """llama.cpp's ``--n-cpu-moe``: routed experts of so many layers stay on the CPU."""
    cpu_offload_gb: Annotated[float, Plain, Field(gt=0, le=1e5)] | None = None
    """``--cpu-offload-gb`` of vLLM and SGLang: weights of each GPU in the host's memory [GiB]."""
    host: Name | None = None
    """The machine around the card, where something is not on the GPU."""

    @model_validator(mode="after")
    def _stages_agree(self) -> Deployment:
        if self.pipeline_layers is not None and len(self.pipeline_layers) != self.pp:
            raise InvalidInput(
                f"Deployment pipeline_layers names {len(self.pipeline_layers)} stages, but pp is {self.pp}"
            )
        return self

    @property
    def sharding(self) -> Sharding:
        """Return the parallel sizes."""
        return Sharding(tp=self.tp, pp=self.pp, ep=self.ep, dp=self.dp, dcp=self.dcp)

    @property
    def gpus(self) -> int:
        """Return how many GPUs one deployment takes."""
        return self.tp * self.pp * self.dp

    @property
    def layout(self) -> str:
        """Return the parallel sizes above 1, such as "TP8 PP2".

        TP is named too where it is 1, unless attention is in copies; so a single GPU is "TP1".
        """
        sizes = [] if self.tp == 1 and self.dp > 1 else [f"TP{self.tp}"]
        sizes += [
            f"{name.upper()}{size}" for name in ("pp", "dp", "ep", "dcp") if (size := getattr(self, name)) > 1
        ]
        return " ".join(sizes)


class Workload(Scenario):
    """The load: the longest request and how many run at once."""

    context: Count | None = None
    """Longest request, input and output together (`max_model_len`) [tokens]; None is the model's maximum."""
    concurrency: Count | None = None
    """Requests of that length that must run at once; None asks for one."""
    isl: Count | None = None
    """Input tokens of a request."""
    osl: Count | None = None
    """Output tokens of a request."""
    request_rate: Annotated[float, Plain, Field(gt=0)] | None = None
    """Requests that arrive in a second, instead of a concurrency [1/s]."""
    prefix_hit: Annotated[float, Plain, Field(ge=0, lt=1)] = 0.0
    """Share of the input that a prefix cache holds."""
