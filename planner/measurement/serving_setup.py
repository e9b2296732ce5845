"""From a measured serving point to the catalogue's records, and what a point does not say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from planner.architecture.formats import FORMATS
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import UnknownName
from planner.measurement.names import ENGINES, ModelName, find_model, is_unstated, quantisation_name
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_layout import Layout, layout_of
from planner.measurement.serving_points import MEASURED, ServingPoint
from planner.measurement.setups import NotPredictable
from planner.scenario.schemes import native_formats

RUNTIMES = {
    "dynamo-trtllm": "tensorrt-llm",
    "nvidia tensorrt-llm": "tensorrt-llm",
    "dynamo-sglang": "sglang",
    "mori-sglang": "sglang",
    "dynamo-vllm": "vllm",
    "vllm/rocm": "vllm",
    "vllm-disagg": "vllm",
    "rocm-pytorch (vllm-based)": "vllm",
    "vllm-atom": "atom",
    "sglang-atom": "atom",
    "atom": "atom",
    "atomesh": "atom",
    "mooncake-atom": "atom",
    "deepspeed": "deepspeed",
    "deepspeed-mii": "deepspeed",
    "mlc-llm": "mlc-llm",
}
"""Names of the tidy schema beside those of `names.ENGINES`, and the engine whose kernels run."""

WEIGHT_BITS = {4: ("mxfp4", "nvfp4", "fp4", "int4", "gguf-q4", "exl3", "w4a"), 8: ("fp8", "mxfp8", "int8")}
"""Beginnings of formats by their class; everything else counts as 16 bits."""


@dataclass(frozen=True, slots=True)
class PointSetup:
    """What was measured, in planner's records.

    Parameters
    ----------
    model : Model
        The model.
    gpu : Gpu
        The accelerator.
    weight_dtype : str or None
        Quantisation as `planner.scenario.Deployment` takes it; None is the checkpoint as published.
    kv_dtype : str
        Dtype of the KV cache; "auto" where it is not stated.
    engine : str or None
        The engine whose kernels run, such as ``tensorrt-llm`` for ``dynamo-trtllm``; None when not known.
    layout : Layout
        How the GPUs are divided.
    """

    model: Model
    gpu: Gpu
    weight_dtype: str | None
    kv_dtype: str
    engine: str | None
    layout: Layout


class SetupResolver:
    """Maps points to the catalogue's records; each name is looked up once.

    Parameters
    ----------
    catalogue : Catalogue
        Models and accelerators.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._models: dict[str, ModelName | NotPredictable] = {}
        self._gpus: dict[str, Gpu | NotPredictable] = {}

    def setup(self, point: ServingPoint) -> PointSetup:
        """Return what a point is of.

        Parameters
        ----------
        point : ServingPoint
            The point.

        Returns
        -------
        PointSetup

        Raises
        ------
        NotPredictable
            When the catalogue does not hold its model or accelerator, or nothing is known of its weights.
        """
        named = self._model(point.model)
        return PointSetup(
            model=named.model,
            gpu=self._gpu(point.gpu),
            weight_dtype=_weights(point, named),
            kv_dtype=_kv_dtype(point.kv_dtype or ""),
            engine=engine_name(point.engine or ""),
            layout=layout_of(point),
        )

    def _model(self, name: str) -> ModelName:
        found = self._models.get(name)
        if found is None:
            try:
                found = find_model(name, self._catalogue)
            except UnknownName as error:
                found = NotPredictable("model not known", str(error))
            self._models[name] = found
        if isinstance(found, NotPredictable):
            raise found
        return found

    def _gpu(self, name: str) -> Gpu:
        found = self._gpus.get(name)
        if found is None:
            try:
                found = self._catalogue.gpu(name)
            except UnknownName as error:
                found = NotPredictable("accelerator not known", str(error))
            self._gpus[name] = found
        if isinstance(found, NotPredictable):
            raise found
        return found


def states_operating_point(point: ServingPoint) -> bool:
    """Return whether a point states model, accelerator, GPU count, lengths and concurrency."""
    stated = (point.n_gpus, point.isl, point.osl, point.concurrency)
    return not is_unstated(point.model) and not is_unstated(point.gpu) and None not in stated


def missing_statement(point: ServingPoint) -> str | None:
    """Return the first thing that a prediction needs and a point does not say, or None.

    Parameters
    ----------
    point : ServingPoint
        The point.

    Returns
    -------
    str or None
        The same words for all points of a kind, to be counted.
    """
    if all(getattr(point, name) is None for name in MEASURED):
        return "nothing measured that could be compared"
    if point.n_gpus is None:
        return "number of GPUs not stated"
    if point.isl is None:
        return "input length not stated"
    if point.osl is None and not point.flags & ServingFlag.ONE_PHASE:
        return "output length not stated"
    paced = point.request_rate is not None and math.isfinite(point.request_rate)
    if point.concurrency is None and not paced and not point.flags & ServingFlag.OFFLINE:
        return "neither concurrency nor request rate stated"
    return None


def unpredictable(points: Iterable[ServingPoint], catalogue: Catalogue) -> Counter[str]:
    """Count why points cannot be predicted.

    Parameters
    ----------
    points : iterable of ServingPoint
        The points.
    catalogue : Catalogue
        Models and accelerators.

    Returns
    -------
    Counter
        Points by reason; those that can be predicted are not in it.
    """
    resolver = SetupResolver(catalogue)
    reasons: Counter[str] = Counter()
    for point in points:
        try:
            resolver.setup(point)
        except NotPredictable as why:
            reasons[why.reason] += 1
            continue
        lacking = missing_statement(point)
        if lacking:
            reasons[lacking] += 1
    return reasons


def engine_name(text: str) -> str | None:
    """Return the engine whose kernels run, or None when it is not stated or not known.

    Parameters
    ----------
    text : str
        As the tidy schema has it, such as ``dynamo-trtllm`` or ``vllm/rocm``.

    Returns
    -------
    str or None
        Such as ``tensorrt-llm``; ``atom`` for AMD's kernels under vLLM or SGLang.
    """
    lowered = text.lower()
    return ENGINES.get(lowered) or RUNTIMES.get(lowered)


def weight_bits(weight_dtype: str | None, model: Model) -> int:
    """Return the class of most of the weights: 4, 8 or 16 bits.

    Parameters
    ----------
    weight_dtype : str or None
        Quantisation; None is the checkpoint as published.
    model : Model
        The model.

    Returns
    -------
    int
    """
    formats = [weight_dtype] if weight_dtype else list(native_formats(model).values())
    found = [
        bits for bits, starts in WEIGHT_BITS.items() for name in formats if name.lower().startswith(starts)
    ]
    return min(found, default=16)


def _weights(point: ServingPoint, named: ModelName) -> str | None:
    """Return the quantisation that a point's weight dtype stands for."""
    text = (point.weight_dtype or "").lower()
    if is_unstated(text) or text == "unset":
        return named.quantisation
    if "native" in text:
        return None
    if text in named.model.quantisations or text in FORMATS:
        return text
    found = quantisation_name(text)
    if found is None:
        raise NotPredictable("weight dtype not known", f"{point.weight_dtype!r}")
    native = native_formats(named.model)
    published = list(native.values())
    if found == "fp4":
        amd = (point.vendor or "").lower() == "amd"
        return "mxfp4" if amd or "mxfp4" in published else "nvfp4"
    if found.startswith("int4") and any(name.startswith("int4") for name in published):
        return None
    if found == "bf16" and not native:
        return None
    return found


def _kv_dtype(text: str) -> str:
    lowered = text.lower()
    if lowered.startswith("4-bit"):
        return "int4"
    return lowered.split(" ")[0] or "auto"
