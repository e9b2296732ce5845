"""Measured collectives: the shipped kernel table and the curves of the catalogue, as one kind of row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planner.catalogue import Achieved, Catalogue
from planner.measurement.csvtable import read_csv
from planner.measurement.serving_sources import serving_directory
from planner.units import Dimension, parse

GPUS = {
    "a100_sxm": "a100-sxm-80",
    "h100_sxm": "h100-sxm",
    "h200_sxm": "h200-sxm",
    "b200_sxm": "b200-sxm",
    "b300_sxm": "b300-sxm",
    "gb200": "gb200-nvl72",
    "gb300": "gb300-nvl72",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000",
    "b60": "arc-pro-b60",
}
"""Systems of the kernel table by the catalogue's ids."""

BUFFERS = {
    "custom_all_reduce": ("all_reduce", None),
    "nccl_all_reduce": ("all_reduce", "nccl"),
    "nccl_all_gather": ("all_gather", "nccl"),
    "nccl_alltoall": ("all_to_all", "nccl"),
}
"""Collective and engine of the operators that state their bytes."""

DISPATCH_BYTES = {"bfloat16": 2.0, "fp8": 1 + 4 / 128, "nvfp4": 0.5625, "": 1 + 4 / 128}
"""Bytes of one value on its way to an expert, with its scales; DeepEP sends FP8 unless told otherwise."""

COMBINE_BYTES = 2.0
"""What experts send back is BF16."""

BALANCED = "trtllm_alltoall"
"""Operators whose tokens are spread evenly over the ranks instead of at random."""


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """One measured collective.

    Parameters
    ----------
    gpu, op : str
        Id of the accelerator; operator as its source names it.
    kind : str
        As `planner.performance.collectives` names it.
    engine : str or None
        As `collective_s` takes it: the library where it ran alone, the kind of expert-parallel kernel.
    ranks, nodes : int
        GPUs, and the nodes they fill; 1 for a rack whose GPUs all share their links.
    bytes : float
        As `collective_s` takes them [bytes].
    seconds : float
        Measured time [s].
    top_k : int
        Experts that a token chose; 1 where that does not matter.
    source : str
        Where it was read.
    """

    gpu: str
    op: str
    kind: str
    engine: str | None
    ranks: int
    nodes: int
    bytes: float
    seconds: float
    top_k: int
    source: str


def collective_rows(catalogue: Catalogue) -> list[CollectiveRow]:
    """Return every measured collective that the project ships.

    Parameters
    ----------
    catalogue : Catalogue
        Whose curves and latencies are taken.

    Returns
    -------
    list of CollectiveRow
        The kernel table's first; without its `moe_a2a_*` rows, which hold nanoseconds and host time.
    """
    return [*_kernel_rows(), *_catalogue_rows(catalogue)]


def _kernel_rows() -> Iterator[CollectiveRow]:
    path = serving_directory().parent / "kernels" / "aiconfigurator.csv"
    engine: str | None
    for row in read_csv(path).rows:
        cells = row.cells
        op, gpu = cells["op"], GPUS[cells["system"]]
        if op in BUFFERS:
            kind, engine = BUFFERS[op]
            sent, top_k = float(cells["bytes"]), 1
        elif re.match(r"deepep_|trtllm_alltoall_(dispatch|combine)$", op):
            kind, engine, top_k = "all_to_all", _ep_kernel(op), int(cells["topk"])
            width = COMBINE_BYTES if "combine" in op else DISPATCH_BYTES[cells["dtype"]]
            token = float(cells["tokens"]) * float(cells["hidden"]) * width
            sent = token * min(top_k, int(cells["gpus"]))
            top_k = 1 if op.startswith(BALANCED) else top_k
        else:
            continue
        ranks = int(cells["gpus"])
        nodes = 1 if "nvl72" in gpu else -(-ranks // 8)
        seconds = float(cells["latency_us"]) * 1e-6
        yield CollectiveRow(gpu, op, kind, engine, ranks, nodes, sent, seconds, top_k, path.name)


def _catalogue_rows(catalogue: Catalogue) -> Iterator[CollectiveRow]:
    """Yield all-reduces and EP latencies that the kernel table lacks."""
    for gpu in catalogue.gpus():
        for row in gpu.achieved.get("collective_latency", ()):
            if row.stat.startswith("all_reduce") or row.nodes:
                for size, seconds in (row.points or {}).items():
                    engine = "nccl" if "nccl" in row.stat else None
                    yield _all_reduce(gpu.id, row.stat, engine, row, size, seconds)
        for row in gpu.achieved.get("allreduce_busbw", ()):
            message = _message(row)
            if message is not None and row.value is not None and row.confidence == "measured":
                ranks = row.gpus or 8
                seconds = 2 * (ranks - 1) / ranks * message / row.value
                yield _all_reduce(gpu.id, "all_reduce_busbw", "nccl", row, message, seconds)
        for row in gpu.achieved.get("ep_latency", ()):
            if row.stat.startswith("MORI") and row.value is not None:
                width = COMBINE_BYTES if "combine" in row.stat else DISPATCH_BYTES["fp8"]
                sent = (row.tokens_per_gpu or 0) * 7168 * width * 8
                op = row.stat.lower().replace(" ", "_")
                ranks, nodes = row.gpus or 8, row.nodes or 1
                yield CollectiveRow(
                    gpu.id,
                    op,
                    "all_to_all",
                    _ep_kernel(op),
                    ranks,
                    nodes,
                    sent,
                    row.value,
                    8,
                    row.source.title,
                )


def _all_reduce(
    gpu: str, op: str, engine: str | None, row: Achieved, size: float, seconds: float
) -> CollectiveRow:
    ranks, nodes = row.gpus or 8, row.nodes or 1
    return CollectiveRow(gpu, op, "all_reduce", engine, ranks, nodes, size, seconds, 1, row.source.title)


def _ep_kernel(op: str) -> str:
    return "normal" if "normal" in op else "low_latency"


def _message(row: Achieved) -> float | None:
    """Return the size of a message that is stated as a number."""
    stated = row.message or ""
    return parse(stated, Dimension.BYTES) if stated[:1].isdigit() else None
