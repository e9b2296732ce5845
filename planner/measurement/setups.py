"""From a start-up log to the question it answers: model, accelerator, deployment and load."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.architecture import build_architecture
from planner.catalogue import Catalogue, Confidence, Figure, Gpu, Model, Source
from planner.catalogue.gpu import Memory
from planner.catalogue.models import Quantisation
from planner.errors import InvalidInput, PlannerError, UnknownName
from planner.measurement.engine_versions import engine_of
from planner.measurement.names import (
    ENGINES,
    GGUF_BITS,
    bare_name,
    find_model,
    is_unstated,
    quantisation_name,
)
from planner.measurement.startup_logs import StartupLog
from planner.scenario import Deployment, Workload
from planner.scenario.legal import KV_DTYPES
from planner.scenario.schemes import native_formats, weight_scheme
from planner.units import Dimension

GIB = 2.0**30

VENDORS = {"AMD": r"\bAMD\b|Radeon|\bMI\d{3}", "NVIDIA": r"NVIDIA|GeForce|\bRTX\b|\b[ABHL]\d{1,3}\b"}
"""What in a name tells the vendor of an accelerator that the catalogue does not hold."""

KV_DTYPE_NAMES = {
    "": "auto",
    "none": "auto",
    "bfloat16": "bf16",
    "float16": "f16",
    "fp16": "f16",
    "float32": "f32",
    "fp32": "f32",
}
"""Names of KV dtypes that planner spells otherwise."""


class NotPredictable(Exception):
    """A log that cannot be predicted: the general reason, and what about this row.

    Parameters
    ----------
    reason : str
        The same words for all rows of a kind, to be counted.
    detail : str
        What it was in this row.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Setup:
    """What a log was told, in planner's records.

    Parameters
    ----------
    model : Model
        The model.
    gpu : Gpu or None
        The accelerator, with the memory that the driver reported where the log says it; None when the log
        names no single one and no total.
    deployment, workload : Deployment, Workload
        What was asked of the engine.
    engine : str
        The engine's family, such as ``vllm``.
    weights_known : bool
        Whether the log says in which format the weights are.
    kv_known : bool
        Whether planner knows the stated KV dtype; where not, the deployment has the engine's own.
    assumptions : tuple of str
        What was read into the log.
    """

    model: Model
    gpu: Gpu | None
    deployment: Deployment
    workload: Workload
    engine: str
    weights_known: bool
    kv_known: bool
    assumptions: tuple[str, ...]


def states_its_setup(log: StartupLog) -> bool:
    """Return whether a log states model, accelerator or its memory, and sizes: it should be predicted.

    Parameters
    ----------
    log : StartupLog
        The log.

    Returns
    -------
    bool
        A name that says only a class, or that the model was not stated, states nothing.
    """
    gpu = log.total_gpu_gib is not None or not (is_unstated(log.gpu) or "not stated" in log.gpu)
    model = not is_unstated(log.model) and not re.search(r"\bclass\b|\bfamily\b", log.model)
    return model and gpu and (log.tp is not None or log.n_gpus is not None)


def setup_of(log: StartupLog, catalogue: Catalogue) -> Setup:
    """Map a log to planner's records.

    Parameters
    ----------
    log : StartupLog
        The log.
    catalogue : Catalogue
        Models and accelerators.

    Returns
    -------
    Setup

    Raises
    ------
    NotPredictable
        When the log does not say enough, or names something the catalogue does not hold.
    """
    engine = engine_of(log)
    if engine is None:
        raise NotPredictable(
            "engine not known", f"{log.engine!r}; known: {', '.join(dict.fromkeys(ENGINES.values()))}"
        )
    model, quantisation, weights_known, notes = _model(log, catalogue)
    if engine.note:
        notes.append(engine.note)
    gpu, note = _gpu(log, catalogue)
    if note:
        notes.append(note)
    sizes = _sizes(log, engine.family)
    kv_dtype = KV_DTYPE_NAMES.get(log.kv_cache_dtype.lower(), log.kv_cache_dtype.lower())
    kv_known = kv_dtype in KV_DTYPES.get(engine.family, ())
    try:
        deployment = Deployment(
            **sizes,
            weight_dtype=quantisation,
            kv_dtype=kv_dtype if kv_known else "auto",
            engine=engine.name,
            memory_fraction=log.mem_fraction,
            max_num_batched_tokens=log.max_num_batched_tokens,
            max_num_seqs=log.max_num_seqs,
            block_size=log.block_size,
            enforce_eager=bool(log.enforce_eager),
            prefix_caching=log.prefix_caching,
            speculative_tokens=speculative_tokens(log.spec_decode, model),
        )
        workload = _workload(log, engine.family)
    except InvalidInput as error:
        raise NotPredictable("sizes out of range", str(error)) from None
    return Setup(model, gpu, deployment, workload, engine.family, weights_known, kv_known, tuple(notes))


def _workload(log: StartupLog, engine: str) -> Workload:
    """Return the longest request and, for llama.cpp, which reserves them all, how many there are."""
    cells = log.kv_tokens or log.max_model_len
    if engine != "llama.cpp" or cells is None:
        return Workload(context=log.max_model_len)
    sequences = log.max_num_seqs or 1
    return Workload(context=max(cells // sequences, 1), concurrency=sequences)


def speculative_tokens(text: str, model: Model) -> int:
    """Return how many tokens the checkpoint's own draft layers propose for each step.

    Parameters
    ----------
    text : str
        Such as ``MTP 3``, ``ngram`` or ``none``.
    model : Model
        The model; some checkpoints hold a DSpark draft, and their configuration says so.

    Returns
    -------
    int
        1 where a method is named without a number; 0 for none and for methods without draft layers.

    Raises
    ------
    NotPredictable
        For a separate draft, which no column names.
    """
    lowered = text.lower()
    if lowered in ("", "none", "off", "no", "false", "0") or re.search(r"n-?gram|lookup|suffix", lowered):
        return 0
    config = {**model.config, **(model.config.get("text_config") or {})}
    own = "dspark" in lowered and any(key.startswith("dspark") for key in config)
    if not own and re.search(r"[a-z]", lowered) and "mtp" not in lowered:
        raise NotPredictable("draft model not known", f"spec_decode {text!r} of {model.id}")
    number = re.search(r"(?<![\w.])\d{1,2}(?![\w.])", text)
    return int(number[0]) if number else 1


def _model(log: StartupLog, catalogue: Catalogue) -> tuple[Model, str | None, bool, list[str]]:
    if is_unstated(log.model):
        raise NotPredictable("model not stated", log.model)
    try:
        found = find_model(log.model, catalogue)
    except UnknownName as error:
        vague = re.search(r"\bclass\b|\bfamily\b", log.model)
        reason = "model named only by its class" if vague else "model not known"
        raise NotPredictable(reason, str(error)) from None
    notes = [found.note] if found.note else []
    quantisation = found.quantisation or quantisation_name(log.weight_quant)
    native = native_formats(found.model)
    if quantisation == "bf16" and not native:
        quantisation = None
    if quantisation == "fp4":
        quantisation = "mxfp4" if "mxfp4" in native.values() else "nvfp4"
    if quantisation and quantisation not in found.model.quantisations and quantisation.startswith("int"):
        quantisation = quantisation.partition("-")[0]  # the model's own recipe of that width
    model = _with_gguf(found.model, quantisation)
    if quantisation and not _has_weights(model, quantisation):
        notes.append(f"{model.id} has no weights like {log.weight_quant or log.model!r}")
        return model, None, False, notes
    said = log.weight_quant or re.search("quant", log.model, re.IGNORECASE)
    known = quantisation is not None or not said or quantisation_name(log.weight_quant) == "bf16"
    if not said and quantisation is None:
        notes.append("weights not stated: the checkpoint as published is assumed")
    return model, quantisation, known, notes


def _with_gguf(model: Model, quantisation: str | None) -> Model:
    """Return the model with the GGUF type that a log names, at that type's usual average size."""
    bits = GGUF_BITS.get((quantisation or "").removeprefix("gguf-"))
    if quantisation is None or bits is None or quantisation in model.quantisations:
        return model
    made = Quantisation(formats={"embed": f"{bits}bpw"}, status="derived")
    return model.model_copy(update={"quantisations": {**model.quantisations, quantisation: made}})


def _has_weights(model: Model, quantisation: str) -> bool:
    """Return whether the catalogue knows what these weights of the model are made of."""
    try:
        weight_scheme(model, build_architecture(model.config, model.id), quantisation)
    except PlannerError:
        return False
    return True


def _gpu(log: StartupLog, catalogue: Catalogue) -> tuple[Gpu | None, str | None]:
    """Return the accelerator with the memory that the driver reported, where the log says how much."""
    gpu = _named_gpu(log, catalogue)
    if log.total_gpu_gib is None:
        return gpu, None
    if log.total_gpu_gib <= 0:
        raise NotPredictable(
            "unreadable value", f"total_gpu_gib is {log.total_gpu_gib:g}; more than 0 is needed"
        )
    logged = _memory_figure(log, log.total_gpu_gib * GIB, "measured", "total memory as the log states it")
    if gpu is None:
        return _bare_gpu(log, logged), f"accelerator {log.gpu!r} known by its {log.total_gpu_gib:g} GiB alone"
    return gpu.model_copy(update={"memory": gpu.memory.model_copy(update={"framework": logged})}), None


def nominal_gpu(log: StartupLog) -> Gpu:
    """Return a stand-in for an accelerator that a log does not name, where only its logged pool is used.

    Parameters
    ----------
    log : StartupLog
        The log; its `gpu_mem` is the size where it says one, else 80 GB.

    Returns
    -------
    Gpu
        With nothing but a memory size, which some engine defaults depend on.
    """
    size = re.match(r"(\d+(?:\.\d+)?) ?GB", log.gpu_mem)
    value = float(size[1]) * 1e9 if size and float(size[1]) > 0 else 80e9
    return _bare_gpu(
        log, _memory_figure(log, value, "assumed", "stand-in for an accelerator that is not stated")
    )


def _memory_figure(log: StartupLog, value: float, confidence: Confidence, note: str) -> Figure:
    dated = re.fullmatch(r"(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", log.date)
    date = log.date if dated else "2026"
    source = Source(title=log.source or "the log", date=date)
    return Figure(
        value=value, unit=Dimension.BYTES, source=source, date=date, confidence=confidence, note=note
    )


def _bare_gpu(log: StartupLog, memory: Figure) -> Gpu:
    name, unknown = bare_name(log.gpu) or "not stated", "not stated"
    vendor = next((vendor for vendor, marks in VENDORS.items() if re.search(marks, name)), unknown)
    of_memory = Memory(type=unknown, framework=memory)
    return Gpu(id=name, name=name, vendor=vendor, architecture=unknown, status=unknown, memory=of_memory)


def _named_gpu(log: StartupLog, catalogue: Catalogue) -> Gpu | None:
    """Return the one accelerator that a log names, or None; memory decides between forms of one name."""
    names = dict.fromkeys((log.gpu, bare_name(log.gpu)))
    for name in names:
        try:
            gpu = catalogue.gpu(name) if name else None
        except UnknownName:
            continue
        if gpu is not None and not _contradicts(gpu, log.gpu_mem):
            return gpu
    memory = re.match(r"\d+ ?GB", log.gpu_mem)
    for name in names if memory else ():
        try:
            return catalogue.gpu(f"{name} {memory[0].replace(' ', '')}") if memory else None
        except UnknownName:
            continue
    return None


def _contradicts(gpu: Gpu, stated: str) -> bool:
    """Return whether the memory size beside a name is not that of the accelerator, such as 40 GB for 80."""
    size = re.fullmatch(r"(\d+(?:\.\d+)?) ?GB.*", stated)
    if not size:
        return False
    stated_bytes = float(size[1]) * 1e9
    return not 0.8 < gpu.usable_bytes / stated_bytes < 1.15


def _sizes(log: StartupLog, engine: str) -> dict[str, int]:
    """Return the parallel sizes of one copy of the model."""
    if log.tp is None and log.n_gpus is None and engine != "llama.cpp":
        raise NotPredictable("sizes not stated", "neither tp nor n_gpus")
    pp, dp = log.pp or 1, log.dp or 1
    if log.tp is not None:
        tp = log.tp
    elif engine == "llama.cpp":
        tp, pp = 1, log.n_gpus or 1  # it splits by layers, and prints totals of the whole model
    else:
        tp, rest = divmod(log.n_gpus or 1, pp * dp)
        if rest or not tp:
            raise NotPredictable("sizes contradict each other", f"{log.n_gpus} GPUs, pp {pp}, dp {dp}")
    if log.n_gpus is not None and tp * pp * dp > log.n_gpus:
        # SGLang's --tp 8 --dp 8 makes its 8 ranks of 8 copies of attention.
        if tp * pp != log.n_gpus or tp % dp:
            raise NotPredictable(
                "sizes contradict each other", f"{log.n_gpus} GPUs, tp {tp}, pp {pp}, dp {dp}"
            )
        tp //= dp
    return {"tp": tp, "pp": pp, "dp": dp, "dcp": log.dcp or 1, "ep": _expert_ranks(log.ep, tp * dp)}


def _expert_ranks(text: str, ranks: int) -> int:
    lowered = text.lower()
    if lowered in ("", "off", "no", "none", "false", "0"):
        return 1
    if lowered in ("on", "yes", "true"):
        return ranks
    if not lowered.isdecimal() or len(lowered) > 4:
        raise NotPredictable("unreadable value", f"ep is {text[:40]!r}; on, off or a number is needed")
    if int(lowered) < 1 or ranks % int(lowered):
        raise NotPredictable("sizes contradict each other", f"ep {lowered} over {ranks} ranks")
    return int(lowered)
