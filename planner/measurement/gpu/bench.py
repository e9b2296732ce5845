"""Runs the micro-benchmarks, one row for each operation, and hands every row over as it is measured."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Catalogue, Gpu
from planner.errors import InvalidInput, PlannerError, Unsupported
from planner.measurement.gpu.collectives import Collectives, Group, Message, group_of
from planner.measurement.gpu.environment import environment
from planner.measurement.gpu.probes import LAUNCHES, PARTS, Bench, Probe
from planner.measurement.gpu.shapes import Suite
from planner.measurement.gpu.timing import Timer, Timing
from planner.measurement.gpu.work import ENGINE_ALL_REDUCE, Work, fractions, link_work

COLLECTIVES, ENGINE_COLLECTIVES = "collectives", "engine_collectives"
OF_GROUPS = (COLLECTIVES, ENGINE_COLLECTIVES)
WHAT = (*PARTS, *OF_GROUPS)
"""What can be timed."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the benchmarks run.

    Parameters
    ----------
    torch : module
        PyTorch.
    device : str
        ``cuda`` or ``cpu``.
    gpu : Gpu or None
        The catalogue's entry, whose limits fractions are of.
    system : str
        Its id, or what the driver calls it.
    group : Group or None
        This process among those of torchrun.
    """

    torch: Any
    device: str
    gpu: Gpu | None
    system: str
    group: Group | None

    @property
    def speaks(self) -> bool:
        """Return whether this process reports: the first of a group, or the only one."""
        return self.group is None or self.group.rank == 0


def open_machine(device: str, catalogue: Catalogue, gpu: str | None = None) -> Machine:
    """Find PyTorch, the device and its entry in the catalogue.

    Parameters
    ----------
    device : str
        ``auto``, ``cuda`` (NVIDIA and ROCm alike) or ``cpu``.
    catalogue : Catalogue
        Where peaks stand.
    gpu : str, optional
        Id or alias of the accelerator, instead of what the driver calls it.

    Returns
    -------
    Machine

    Raises
    ------
    Unsupported
        When there is no PyTorch, or no such device.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise Unsupported(
            "measuring a GPU needs PyTorch, which is not installed here: `pip install torch` (for ROCm see "
            "pytorch.org), or run planner with the Python of your engine"
        ) from None
    there = bool(torch.cuda.is_available())
    if device == "cuda" and not there:
        raise Unsupported("PyTorch sees no GPU here; --device cpu times the CPU, to try the commands out")
    chosen = "cuda" if device != "cpu" and there else "cpu"
    name = torch.cuda.get_device_properties(0).name if chosen == "cuda" else "cpu"
    entry = _entry(catalogue, gpu or name, stated=gpu is not None)
    return Machine(torch, chosen, entry, entry.id if entry else name, group_of())


def _entry(catalogue: Catalogue, name: str, *, stated: bool) -> Gpu | None:
    """Return the accelerator of a name; what the driver says may be unknown, what a user says may not."""
    try:
        return catalogue.gpu(name)
    except PlannerError:
        if stated:
            raise
        return None


def parts_of(what: Sequence[str], group: Group | None) -> list[str]:
    """Return what to time: what was asked for, or all that this process can.

    Raises
    ------
    InvalidInput
        When something unknown was asked for, or collectives without several processes.
    """
    unknown = [part for part in what if part not in WHAT]
    if unknown:
        raise InvalidInput(f"--what {unknown[0]}: one of {', '.join(WHAT)} is needed")
    if group is None and any(part in OF_GROUPS for part in what):
        raise InvalidInput(
            "collectives need a process for each GPU: "
            "torchrun --nproc-per-node GPUS --no-python planner measure gpu --what collectives"
        )
    if what:
        return list(dict.fromkeys(what))
    return [COLLECTIVES] if group is not None else list(PARTS)


def measured_rows(
    machine: Machine,
    catalogue: Catalogue,
    *,
    parts: Sequence[str],
    suite: Suite,
    told: Callable[[str], None] = lambda text: None,
) -> Iterator[Row]:
    """Time everything that was asked for.

    Parameters
    ----------
    machine : Machine
        Where.
    catalogue : Catalogue
        Whose models' sizes are timed.
    parts : sequence of str
        Of `WHAT`.
    suite : str
        "quick" or "full".
    told : callable
        Is told what is being timed, and of operations that this device cannot run.

    Yields
    ------
    dict
        A row in the columns of the kernel table, with `low_us`, `high_us`, `runs` and `graph` beside them.
    """
    common = {"system": machine.system, "framework": "torch", "version": str(machine.torch.__version__)}
    timer: Timer | None = None
    bench = Bench(machine.torch, machine.device, suite, catalogue)
    for part in parts:
        told(f"timing {part}")
        if part in OF_GROUPS:
            yield from ({**common, **row} for row in _collective_rows(machine, suite, part))
            continue
        timer = timer or Timer(machine.torch, machine.device)
        refused: set[tuple[Any, ...]] = set()
        for probe in PARTS[part](bench):
            kind = (probe.fields["op"], probe.fields["dtype"], probe.fields["kernel"])
            if kind in refused:
                continue
            try:
                timing = timer.time(probe.make(), graph=probe.graph, flush=probe.flush)
            except (RuntimeError, AttributeError, NotImplementedError, TypeError) as error:
                told(f"{' '.join(kind)} cannot run here: {' '.join(str(error).split())[:160]}")
                refused.add(kind)
                continue
            finally:
                if machine.device == "cuda":
                    machine.torch.cuda.empty_cache()
            yield {**common, **_row(probe, timing, machine.gpu)}


def _row(probe: Probe, timing: Timing, gpu: Gpu | None) -> Row:
    one = LAUNCHES if probe.fields["op"] == "launch" else 1
    return {**probe.fields, **_figures(probe.work, timing, gpu, one)}


def _figures(work: Work, timing: Timing, gpu: Gpu | None, one: int = 1) -> Row:
    shares = fractions(work, timing.median_s, gpu)
    return {
        "latency_us": round(1e6 * timing.median_s / one, 3),
        **{name: value if value is None else round(value, 4) for name, value in shares.items()},
        "low_us": round(1e6 * timing.low_s / one, 3),
        "high_us": round(1e6 * timing.high_s / one, 3),
        "runs": timing.runs,
        "graph": timing.graph,
    }


def _collective_rows(machine: Machine, suite: Suite, part: str) -> Iterator[Row]:
    assert machine.group is not None
    together = Collectives(machine.torch, machine.group, machine.device)
    try:
        own = part == ENGINE_COLLECTIVES
        for message in together.engine_messages(suite) if own else together.messages(suite):
            timing = together.time(message)
            if machine.speaks:
                fields = _collective_fields(message, together.library, machine.group)
                work = link_work(message.kind, machine.group.ranks, message.size)
                yield {**fields, **_figures(work, timing, machine.gpu)}
    finally:
        together.close()


def _collective_fields(message: Message, library: str, group: Group) -> Row:
    how = "replayed from a graph" if message.graph else "started by the host"
    common = {"dtype": "bfloat16", "gpus": group.ranks, "nodes": group.nodes, "bytes": message.size}
    if message.kind == ENGINE_ALL_REDUCE:
        engine = importlib.import_module("vllm")
        kernel = f"vLLM CustomAllreduce, {how}"
        return {
            "op": message.kind,
            "kernel": kernel,
            "framework": "vllm",
            "version": engine.__version__,
            **common,
        }
    return {"op": f"{library}_{message.kind}", "kernel": f"torch.distributed {message.kind}, {how}", **common}


def machine_facts(machine: Machine) -> dict[str, str]:
    """Return the fingerprint of the machine's software and GPUs, and of the run's size."""
    found = environment(machine.torch, machine.device)
    if machine.group is not None:
        found |= {"processes": str(machine.group.ranks), "nodes": str(machine.group.nodes)}
    return found
