"""Rules that a catalogue must meet, whoever wrote the entry: most are mistakes that public tables contain.

Each rule looks at one record and names what is wrong. An error is something that cannot be; a warning is
something that is usually a mistake and sometimes true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.catalogue.figures import Figure
from planner.catalogue.gpu import Gpu
from planner.catalogue.price import Price
from planner.catalogue.references import unknown_references
from planner.catalogue.roots import ROOTS, nearest_root
from planner.errors import CatalogueError
from planner.units import format_bytes, format_quantity

if TYPE_CHECKING:
    from planner.catalogue.loader import Catalogue

_GIB_PER_GB = 2**30 / 1e9


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule."""

    severity: Literal["error", "warning"]
    path: tuple[str, ...]
    """The field it is about, from the entry's root."""
    message: str


Findings = Iterator[Problem]

WIDER = {"bf16": "tf32", "fp8": "bf16", "int8": "bf16", "fp6": "fp8", "fp4": "fp8"}
"""The next wider format that each format's peak is compared with."""

MAX_STEP = 2.2
"""A format of half the width runs at most twice as fast; more is usually a sparse figure."""

MAX_UNEVEN_STEP = 4.5
"""The same for formats that an entry declares uneven: GeForce halves FP32 accumulation, Rubin widens FP8."""

DENSE_BF16_TFLOPS = {
    "sm_80": 312,
    "sm_86": 181,
    "sm_89": 367,
    "sm_90": 990,
    "sm_100": 2500,
    "sm_103": 2500,
    "sm_120": 505,
    "gfx90a": 383,
    "gfx942": 1308,
    "gfx950": 2517,
}
"""The fastest part of each instruction set, dense BF16; twice that is the sparse figure."""

ONE_WAY_GB_S = {
    "NVLink2": 150,
    "NVLink3": 300,
    "NVLink4": 450,
    "NVLink5": 900,
    "NVLink6": 1800,
    "PCIe 3.0 x16": 16,
    "PCIe 4.0 x16": 32,
    "PCIe 5.0 x16": 64,
    "PCIe 5.0 x8": 32,
}
"""One-way rate of all links of a GPU, by link name."""

XGMI_ONE_WAY_GB_S = {"gfx90a": 400, "gfx942": 448, "gfx950": 576}
"""The same for AMD's mesh, which goes by one name over the generations."""

LEAST_MEMORY_BYTES, MOST_MEMORY_BYTES = 1e9, 4e12
MOST_BANDWIDTH_BYTES_PER_S, MOST_FLOP_PER_S = 100e12, 1e18
MOST_NODE_GPUS = 1024
"""Several times what any part of the catalogue has, its DDR tier included; more is a wrong unit."""

_FIRST_SM = {"bf16": 80, "fp8": 89, "fp6": 100, "fp4": 100}
_AMD_WITHOUT = {
    "gfx906": ("bf16", "fp8", "fp6", "fp4"),
    "gfx908": ("fp8", "fp6", "fp4"),
    "gfx90a": ("fp8", "fp6", "fp4"),
    "gfx942": ("fp6", "fp4"),
    "gfx1100": ("fp8", "fp6", "fp4"),
    "gfx1151": ("fp8", "fp6", "fp4"),
}


def _error(message: str, *path: str) -> Problem:
    return Problem("error", path, message)


def _warning(message: str, *path: str) -> Problem:
    return Problem("warning", path, message)


def dense_not_sparse(gpu: Gpu) -> Findings:
    """Peaks are dense: no step above twice the next wider format, none above the fastest of its ISA."""
    for dtype, wider in WIDER.items():
        narrow, wide = gpu.peaks.get(dtype), gpu.peaks.get(wider)
        if narrow is None or wide is None:
            continue
        limit = MAX_UNEVEN_STEP if dtype in gpu.uneven_peaks else MAX_STEP
        step = narrow.value / wide.value
        if step > limit:
            yield _error(
                f"{dtype} peak {narrow} is {step:.1f} times the {wider} peak {wide}: a sparse figure? "
                f"Give the dense one, or say under uneven_peaks why it is so",
                "peaks",
                dtype,
            )
    ceiling = DENSE_BF16_TFLOPS.get(gpu.isa or "")
    bf16 = gpu.peaks.get("bf16")
    if ceiling and bf16 and bf16.value > 1.1 * ceiling * 1e12:
        yield _error(
            f"bf16 peak {bf16} is above the {ceiling} TFLOPS of the fastest {gpu.isa} part: a sparse figure?",
            "peaks",
            "bf16",
        )


def alternatives_not_twice(gpu: Gpu) -> Findings:
    """Two sources a factor of two apart usually mean sparse against dense, or both ways against one."""
    figures: list[tuple[tuple[str, ...], Figure]] = [
        (("peaks", name), peak) for name, peak in gpu.peaks.items()
    ]
    if gpu.scale_up and gpu.scale_up.per_gpu:
        figures.append((("scale_up", "per_gpu"), gpu.scale_up.per_gpu))
    for path, figure in figures:
        for other in figure.alternatives:
            ratio = figure.value / other.value
            if abs(ratio - 2) < 0.05 or abs(ratio - 0.5) < 0.0125:
                yield _warning(f"{figure} and its alternative {other} differ by exactly two", *path)


def formats_exist(gpu: Gpu) -> Findings:
    """No peak and no format that the silicon does not have: FP4 on Hopper or CDNA3, FP8 on Ampere."""
    isa = gpu.isa or ""
    match = re.fullmatch(r"sm_(\d+)", isa)
    missing = _AMD_WITHOUT.get(isa, ())
    if match:
        missing = tuple(kind for kind, first in _FIRST_SM.items() if int(match[1]) < first)
    for kind in missing:
        if kind in gpu.peaks:
            yield _error(f"{isa} has no {kind} units, so it has no {kind} peak", "peaks", kind)
        for name in gpu.formats:
            if name.endswith(kind):
                yield _error(
                    f"{isa} has no {kind} units, so {name} is not among its formats", "dtypes", "list"
                )


def isa_is_known(gpu: Gpu) -> Findings:
    """Which formats a part can have follows from its instruction set."""
    sold = not gpu.status.startswith("announced")
    narrow = [kind for kind in ("fp8", "fp6", "fp4") if kind in gpu.peaks]
    if gpu.isa is None and narrow and sold and gpu.vendor.lower() in ("nvidia", "amd"):
        yield _error(
            f"isa is missing, so nothing says whether it has {narrow[-1]} units: add isa: sm_90, gfx942 or "
            "another",
            "peaks",
            narrow[-1],
        )


def links_one_way(gpu: Gpu) -> Findings:
    """Link rates are one way; vendors print both ways added up."""
    link = gpu.scale_up
    if link is None or link.per_gpu is None:
        return
    known = max(
        (rate for name, rate in ONE_WAY_GB_S.items() if name in link.link and "bridge" not in link.link),
        default=0,
    )
    if "xGMI" in link.link:
        known = XGMI_ONE_WAY_GB_S.get(gpu.isa or "", 0) or known
    if known and link.per_gpu.value > 1.05 * known * 1e9:
        yield _error(
            f"{link.per_gpu} is above the {known} GB/s of {link.link} one way: both ways added up?",
            "scale_up",
            "per_gpu",
        )
    if link.p2p_link is not None:
        peers = max(1, gpu.domain_gpus // gpu.devices - 1)
        if link.topology == "mesh" and link.p2p_link.value * min(peers, 7) > 1.1 * link.per_gpu.value:
            yield _error(
                f"{peers} links of {link.p2p_link} are more than {link.per_gpu} per GPU: both ways added up?",
                "scale_up",
                "p2p_link",
            )
        if link.usable_p2p is not None and link.usable_p2p.value > link.p2p_link.value:
            yield _error(
                f"usable {link.usable_p2p} is above the link's {link.p2p_link}", "scale_up", "usable_p2p"
            )


def memory_in_order(gpu: Gpu) -> Findings:
    """Framework total <= driver total <= nameplate read as GiB, and none of them far below the next."""
    memory = gpu.memory
    if memory.driver and memory.marketed:
        nameplate = memory.marketed.value * _GIB_PER_GB
        shown = (
            f"{format_bytes(memory.driver.value)} against a nameplate of {memory.marketed.value / 1e9:g} GB"
        )
        if memory.driver.value > 1.003 * nameplate:
            yield _error(
                f"the driver's total is above the nameplate even in GiB: {shown}", "memory", "driver"
            )
        if memory.driver.value < 0.88 * nameplate:
            yield _error(
                f"the driver's total is more than 12 % below the nameplate: {shown}", "memory", "driver"
            )
    if memory.framework and memory.driver:
        shown = f"{format_bytes(memory.framework.value)} against {format_bytes(memory.driver.value)}"
        if memory.framework.value > 1.001 * memory.driver.value:
            yield _error(f"a process cannot get more than the driver shows: {shown}", "memory", "framework")
        if memory.framework.value < 0.955 * memory.driver.value:
            message = f"far below the driver's total, as if GB were taken for GiB: {shown}"
            yield _warning(message, "memory", "framework")
    if memory.marketed and memory.framework and memory.driver is None:
        nameplate = memory.marketed.value * _GIB_PER_GB
        if not 0.88 * nameplate <= memory.framework.value <= 1.003 * nameplate:
            yield _error("not within 12 % below the nameplate in GiB", "memory", "framework")


def size_is_possible(gpu: Gpu) -> Findings:
    """No part holds more than `MOST_MEMORY_BYTES`, moves or computes more than the limits beside it."""
    memory = gpu.memory
    for field in ("marketed", "driver", "framework", "practical"):
        figure = getattr(memory, field)
        if figure is not None and not LEAST_MEMORY_BYTES <= figure.value <= MOST_MEMORY_BYTES:
            yield _error(
                f"{figure} is not the memory of one accelerator: {format_bytes(LEAST_MEMORY_BYTES)} to "
                f"{format_bytes(MOST_MEMORY_BYTES)} is possible",
                "memory",
                field,
            )
    if memory.bandwidth is not None and memory.bandwidth.value > MOST_BANDWIDTH_BYTES_PER_S:
        limit = format_quantity(MOST_BANDWIDTH_BYTES_PER_S, "bytes/s")
        yield _error(f"{memory.bandwidth} is above the {limit} of any device memory", "memory", "bandwidth")
    for dtype, peak in gpu.peaks.items():
        if peak.value > MOST_FLOP_PER_S:
            limit = format_quantity(MOST_FLOP_PER_S, "FLOP/s")
            yield _error(f"{peak} is above the {limit} of any one part", "peaks", dtype)
    if gpu.node.gpus is not None and (gpu.node.gpus.value > MOST_NODE_GPUS or gpu.node.gpus.value % 1):
        yield _error(f"{gpu.node.gpus} is no number of GPUs of a server", "node", "gpus")


GPU_RULES: tuple[Callable[[Gpu], Findings], ...] = (
    size_is_possible,
    dense_not_sparse,
    alternatives_not_twice,
    formats_exist,
    isa_is_known,
    links_one_way,
    memory_in_order,
)


def check_gpu(gpu: Gpu) -> list[Problem]:
    """Return every rule that an accelerator breaks."""
    return [problem for rule in GPU_RULES for problem in rule(gpu)]


def check_price(price: Price, known: bool) -> list[Problem]:
    """Return what is odd about a price; what is impossible about one the record itself refuses.

    Parameters
    ----------
    price : Price
        The row.
    known : bool
        Whether its GPU is in the catalogue.

    Returns
    -------
    list of Problem
        Warnings.
    """
    shown = f"{price.provider}: {format_quantity(price.usd_per_gpu_hour, 'USD/h')}"
    found = []
    if not known:
        found.append(_warning(f"{price.gpu!r} is no gpu of the catalogue"))
    if not 0.05 <= price.usd_per_gpu_hour <= 50:
        found.append(_warning(f"{shown} per GPU is unusual; a price for a whole server?"))
    return found


def check_user_files(catalogue: Catalogue) -> list[str]:
    """Check every entry of the user's own files; raise the first error, return the warnings."""
    for document in catalogue.own:
        document.check()
        for root in document.roots():
            if root not in ROOTS:
                where = f"{document.path}:{document.line_of_root(root)}"
                raise CatalogueError(f"{where}: unknown root key {root!r}; {nearest_root(root)}")
    touched = {
        (root, key) for document in catalogue.own for root in document.roots() for key in document.ids(root)
    }
    return _check(catalogue, touched)


def check_catalogue(catalogue: Catalogue) -> list[str]:
    """Check every entry of every file; raise the first error, return the warnings."""
    return _check(catalogue, {(root, key) for root in ROOTS for key in catalogue.ids_everywhere(root)})


def _check(catalogue: Catalogue, touched: set[tuple[str, str]]) -> list[str]:
    warnings: list[str] = []
    for root, key in sorted(touched):
        for problem in _problems(catalogue, root, key):
            entry = next(piece for piece in reversed(catalogue.entries(root, key)))
            field = ".".join((root, key, *problem.path))
            line = f"{entry.piece.file}:{entry.line_of(problem.path)}: {field}: {problem.message}"
            if problem.severity == "error":
                raise CatalogueError(line)
            warnings.append(line)
    return warnings


def _problems(catalogue: Catalogue, root: str, key: str) -> list[Problem]:
    if root == "gpus":
        return check_gpu(catalogue.gpu(key))
    if root == "prices":
        known, gpu = catalogue.priced_gpu(key)
        return [problem for price in catalogue.prices_of(gpu) for problem in check_price(price, known)]
    catalogue.load_entry(root, key)
    return [_error(message, *path) for path, message in unknown_references(catalogue, root, key)]
