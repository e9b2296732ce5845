"""NVIDIA's AIConfigurator, or AISimulate as its successor is called, as a provider of figures.

Its estimate of one aggregated deployment is asked, with its tables of operator times. It is never required.
"""

from __future__ import annotations

import contextlib
import logging
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from planner.distribution import installing
from planner.errors import Unsupported
from planner.performance.intervals import Estimate
from planner.performance.providers.interface import Provided, ProviderPoint

NAME = "aiconfigurator"
PACKAGES = ("aiconfigurator", "aisimulate")
"""Both hold the same interface in the versions tried; the second is the successor's name."""

INTERFACE, MODELS = "aiconfigurator.cli.api", "aiconfigurator_core.sdk.common"
TRIED = "0.12."
"""Versions whose interface and self-test are known."""

SYSTEMS = {
    "a100-pcie-80": "a100_pcie",
    "a100-sxm-80": "a100_sxm",
    "b200-sxm": "b200_sxm",
    "b300-sxm": "b300_sxm",
    "gb200-nvl72": "gb200",
    "gb300-nvl72": "gb300",
    "h100-pcie": "h100_pcie",
    "h100-sxm": "h100_sxm",
    "h200-sxm": "h200_sxm",
    "l40s": "l40s",
    "rtx-pro-6000": "rtx_pro_6000_server",
}
"""Its names of accelerators, by ours."""

BACKENDS = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
WEIGHTS = {"bf16": "bfloat16", "fp8": "fp8", "fp8-block": "fp8_block", "nvfp4": "nvfp4"}
KV = {"bf16": "bfloat16", "fp16": "bfloat16", "fp8": "fp8"}
HOPPER = ("h100_sxm", "h200_sxm")

SLOW_GEMM = ("vllm", "fp8_block")
"""Timed without CUDA graphs: every small GEMM takes 55 to 225 us, the time to launch it from the host."""

LN_BETWEEN = {"output": (-1.03, 0.09), "tpot": (-0.35, 0.61), "ttft": (-0.28, 2.19)}
"""What ln(measured / predicted) of four of five points lies between, as measured; see `docs/providers.md`."""

SELF_TEST = ("meta-llama/Meta-Llama-3.1-8B", "h200_sxm", "vllm", 64, 1024, 1024)
EXPECTED_TPOT_MS, SELF_TEST_TOLERANCE = 9.659, 0.02
"""What 0.12.0 says of that point; another answer means other tables or a broken installation."""


@dataclass(frozen=True, slots=True, eq=False)
class Installed:
    """The package that was found."""

    label: str
    interface: Any
    models: Mapping[str, str]
    """Repositories whose configuration it ships, by their bare names; others it would download."""


class AIConfigurator:
    """AIConfigurator's estimate of an aggregated deployment."""

    name = NAME

    def figures(self, point: ProviderPoint) -> Provided:
        """Answer for one operating point, or say in one line why not.

        Parameters
        ----------
        point : ProviderPoint
            The point.

        Returns
        -------
        Provided

        Raises
        ------
        Unsupported
            As `Provider.figures` says.
        """
        system, backend = _system(point), _backend(point)
        found = installed()
        repository, quantisation = _model(point, found)
        _check(point, system)
        self_test(found)
        sizes = point.deployment
        asked = {
            "backend_name": backend,
            "batch_size": math.ceil(point.concurrency / sizes.dp),
            "isl": point.isl,
            "osl": point.osl,
            "prefix": int(point.isl * point.prefix_hit),
            "tp_size": sizes.tp,
            "pp_size": sizes.pp,
            "attention_dp_size": sizes.dp,
            "kvcache_quant_mode": KV[sizes.kv_dtype],
            **quantisation,
        }
        experts = {"moe_tp_size": sizes.tp * sizes.dp // sizes.ep, "moe_ep_size": sizes.ep}
        with _quiet():
            result = _estimated(found, repository, system, asked, experts)
        raw = result.raw
        if (backend, raw.get("gemm")) == SLOW_GEMM:
            raise Unsupported(
                f"{found.label}: its {backend} tables of FP8 in blocks were timed without CUDA graphs and "
                "are known to be wrong; --engine sglang has others"
            )
        return _provided(found, point, system, backend, result)


def _system(point: ProviderPoint) -> str:
    """Return its name of an accelerator."""
    found = SYSTEMS.get(point.gpu.id)
    if found is None:
        other = "" if point.gpu.vendor.lower() == "nvidia" else f" of {point.gpu.vendor}"
        raise Unsupported(
            f"AIConfigurator has no data of {point.gpu.id}{other}; it knows {', '.join(sorted(SYSTEMS))}"
        )
    return found


def _backend(point: ProviderPoint) -> str:
    found = BACKENDS.get(point.engine)
    if found is None:
        raise Unsupported(f"AIConfigurator has no data of {point.engine}; it knows {', '.join(BACKENDS)}")
    return found


def _check(point: ProviderPoint, system: str) -> None:
    """Refuse what its interface does not take, and tables that are known to be wrong."""
    sizes = point.deployment
    if sizes.dcp > 1 or sizes.speculative_tokens:
        what = "decode-context parallelism" if sizes.dcp > 1 else "drafts"
        raise Unsupported(f"AIConfigurator is not asked about {what}; --throughput simulated is")
    if sizes.kv_dtype not in KV:
        raise Unsupported(f"AIConfigurator has no KV cache in {sizes.kv_dtype}; it knows bf16 and fp8")
    if (sizes.tp * sizes.dp) % sizes.ep:
        raise Unsupported(f"AIConfigurator needs TP x DP to be a multiple of EP, and not {sizes.ep}")
    if system in HOPPER and sizes.ep > point.node_gpus:
        raise Unsupported(
            "AIConfigurator's tables of expert parallelism over nodes are the same for H100 and H200, and so "
            "known to be wrong for one of them"
        )


@lru_cache(maxsize=1)
def installed() -> Installed:
    """Return the package under either of its names.

    Raises
    ------
    Unsupported
        Where neither is there, or in another version than was tried.
    """
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    if not versions:
        raise Unsupported(f"throughput {NAME} needs a package that is not installed: {installing(NAME)}")
    package, number = next(iter(versions.items()))
    if not number.startswith(TRIED):
        raise Unsupported(f"{package} {number} was not tried; {NAME} needs {TRIED}x: {installing(NAME)}")
    try:
        with _quiet():
            interface = import_module(INTERFACE)
            models = {_bare(name): name for name in sorted(import_module(MODELS).DefaultHFModels)}
    except (ImportError, AttributeError) as error:
        raise Unsupported(f"{package} {number} cannot be imported: {error}") from None
    return Installed(f"{package} {number}", interface, models)


def _bare(repository: str) -> str:
    """Return what names a model, apart from its publisher and whether it follows instructions."""
    return repository.lower().rpartition("/")[2].removeprefix("meta-").removesuffix("-instruct")


def _model(point: ProviderPoint, found: Installed) -> tuple[str, dict[str, str]]:
    """Return the repository to ask about, and formats where it is the one of other weights."""
    model, wanted = point.model, point.deployment.weight_dtype
    if wanted is not None:
        for alias, variant in model.quantised_aliases.items():
            if variant == wanted and (name := found.models.get(_bare(alias))):
                return name, {}
    names = (_bare(name) for name in (model.hf_repo or model.id, model.id, *model.aliases))
    shipped = next((found.models[name] for name in names if name in found.models), None)
    own = wanted is None or wanted in model.weights.values()
    if shipped is None or not (own or wanted in WEIGHTS):
        of = f" in {wanted}" if wanted else ""
        raise Unsupported(f"{found.label} ships no configuration of {model.id}{of}")
    if own or wanted is None:
        return shipped, {}
    return shipped, {"gemm_quant_mode": WEIGHTS[wanted], "moe_quant_mode": WEIGHTS[wanted]}


@lru_cache(maxsize=1)
def self_test(found: Installed) -> None:
    """Ask about one point whose answer is known; some seconds, once in a process.

    Raises
    ------
    Unsupported
        Where the answer is another.
    """
    model, system, backend, batch, isl, osl = SELF_TEST
    asked = {"backend_name": backend, "batch_size": batch, "isl": isl, "osl": osl}
    with _quiet():
        said = float(_estimated(found, model, system, asked, {}).tpot)
    if not abs(said / EXPECTED_TPOT_MS - 1) <= SELF_TEST_TOLERANCE:
        raise Unsupported(
            f"{found.label} fails its self-test: a TPOT of {said:.3f} ms instead of {EXPECTED_TPOT_MS}"
        )


def _estimated(
    found: Installed, model: str, system: str, asked: Mapping[str, Any], experts: Mapping[str, int]
) -> Any:
    """Return its estimate, with sizes of experts where the model has any; what it raises is a reason."""
    try:
        more = experts if found.interface.check_is_moe(model) else {}
        return found.interface.cli_estimate(model, system, **asked, **more)
    except Exception as error:  # it raises errors of its own, of pandas and of its Rust core
        reason = " ".join(str(error).split())[:240] or type(error).__name__
        raise Unsupported(f"{found.label} has no answer: {reason}") from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep its log and its warnings off the terminal: an answer is ours, and an error one line."""
    loggers = [logging.getLogger(name) for name in (*PACKAGES, "aiconfigurator_core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _provided(found: Installed, point: ProviderPoint, system: str, backend: str, result: Any) -> Provided:
    label = f"{found.label}, tables of {system} and {backend} {result.backend_version}"
    total, gpus = float(result.tokens_per_second), point.deployment.gpus
    values = {
        "output_tps_total": ("output", total),
        "output_tps_per_gpu": ("output", total / gpus),
        "total_tps_per_gpu": ("output", total / gpus * (point.isl + point.osl) / point.osl),
        "ttft_ms": ("ttft", float(result.ttft)),
    }
    if point.osl > 1:
        tpot = float(result.tpot)
        values |= {"tpot_ms": ("tpot", tpot), "tps_per_user": ("tpot", 1e3 / tpot)}
    if not all(math.isfinite(value) and value > 0 for _, value in values.values()):
        raise Unsupported(f"{found.label} has no answer: its figures are not above zero")
    figures = {}
    for name, (kind, value) in values.items():
        low, high = LN_BETWEEN[kind]
        if name == "tps_per_user":  # one over the time between tokens
            low, high = -high, -low
        figures[name] = Estimate(value, value * math.exp(low), value * math.exp(high), f"provided: {label}")
    return Provided(NAME, label, figures, tuple(_notes(point, backend, result)))


def _notes(point: ProviderPoint, backend: str, result: Any) -> Iterator[str]:
    """Yield what to know of its answer."""
    _, _, asked = point.deployment.engine.partition("==")
    if asked and asked != result.backend_version:
        yield f"AIConfigurator's tables are of {backend} {result.backend_version}, not {asked}"
    if point.deployment.tp > 1 and backend in ("vllm", "sglang"):
        yield (
            f"AIConfigurator's tables of all-reduces in {backend} hold 20 to 30 us for small messages, the "
            "launch from the host; its TPOT may be long where TP is wide"
        )
    if result.kv_cache_warning:
        yield f"AIConfigurator: {' '.join(str(result.kv_cache_warning).split())[:200]}"
    if result.moe_comm_fallbacks:
        yield "AIConfigurator took the exchange between experts from another topology"
    share = _formula_share(result)
    if share:
        yield f"AIConfigurator took {share:.0%} of the step time from formulas, the rest from measured tables"


def _formula_share(result: Any) -> float:
    """Return the share of the time of its steps that comes from no measured table."""
    known, formula = 0.0, 0.0
    for step, sources in (result.per_ops_source or {}).items():
        times = (result.per_ops_data or {}).get(step, {})
        for operator, source in sources.items():
            time = times.get(operator)
            if isinstance(time, int | float):
                known += time
                formula += 0.0 if source == "silicon" else time
    return formula / known if known else 0.0
