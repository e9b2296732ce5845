"""`planner measure gpu`: micro-benchmarks of the machine's own GPUs, as efficiency points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.options import Settings, catalogue_option, json_option
from planner.cli.output import deliver, json_text, render

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.table import Table

SCHEMA = "planner.measure.gpu/1"
NAME = "gpu"


@click.command(
    short_help="Time matrix products, memory, attention, experts and collectives of this machine's GPUs."
)
@click.option(
    "--suite",
    type=click.Choice(["tiny", "quick", "full"]),
    default="quick",
    show_default=True,
    help="How many sizes; tiny is to try the command out.",
)
@click.option(
    "--what",
    metavar="PART[,PART...]",
    default="",
    help="launch, bandwidth, gemm, attention, moe, collectives, engine_collectives.  [default: all that this "
    "process can, without the last]",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "cpu"]),
    default="auto",
    show_default=True,
    help="cuda is any GPU that PyTorch sees, of NVIDIA or AMD; cpu is to try the command out.",
)
@click.option(
    "--gpu", metavar="GPU", help="Id or alias of the accelerator.  [default: what the driver calls it]"
)
@click.option("--folder", metavar="DIR", help="Where the rows go.  [default: your measurements folder]")
@json_option
@catalogue_option
@click.pass_obj
def command(
    settings: Settings, suite: str, what: str, device: str, gpu: str | None, folder: str | None, as_json: bool
) -> None:
    """Time this machine's GPUs through PyTorch, and keep the rows as efficiency points.

    Each operation runs with operands in memory and not in the cache, warmed up, timed by the device itself,
    and the median of many runs counts. Rows are kept as they come, beside a file that says on what they
    were measured: GPU, driver, libraries, clocks and power. Nothing of the machine is changed.

    \b
    Examples:
      planner measure gpu
      planner measure gpu --suite full --what gemm,attention
      torchrun --nproc-per-node 8 --no-python planner measure gpu --what collectives
    """
    from planner.measurement.gpu.bench import machine_facts, measured_rows, open_machine, parts_of
    from planner.measurement.gpu.environment import PowerMeter
    from planner.measurement.gpu.keeping import KernelRows

    catalogue = settings.catalogue()
    machine = open_machine(device, catalogue, gpu)
    parts = parts_of([part.strip() for part in what.split(",") if part.strip()], machine.group)
    kept = KernelRows(folder, machine_facts(machine)) if machine.speaks else None
    with PowerMeter() as meter:
        rows = measured_rows(machine, catalogue, parts=parts, suite=suite, told=_told if kept else _silent)  # type: ignore[arg-type]
        for row in rows:
            if kept is not None:
                kept.add(row)
    if kept is None:
        return
    kept.close(meter.summary())
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "system": machine.system,
        "suite": suite,
        "what": parts,
        "rows": len(kept.rows),
        "file": str(kept.path),
        "environment": kept.environment,
        "points": kept.rows,
    }
    if as_json:
        deliver(json_text(facts), None)
    else:
        from planner.report.measured_kernels import kernels_table

        table = kernels_table(kept.rows)
        render(lambda console: _draw(console, facts, table), None)


def _told(text: str) -> None:
    click.echo(text, err=True)


def _silent(_: str) -> None:
    return


def _draw(console: Console, facts: dict[str, Any], table: Table) -> None:
    from planner.cli.draw import draw_facts, draw_table

    console.print(f"{facts['rows']} operations of {facts['system']}", style="bold", markup=False)
    draw_facts(console, [("written", facts["file"]), *facts["environment"].items()])
    console.print()
    draw_table(console, table)
