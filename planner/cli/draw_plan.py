"""How plans and fleets look on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.cli.draw import draw_facts, draw_lines, draw_table
from planner.planning.plan_steps import steps_of
from planner.report.plan_tables import assumed_table, gpus_table, hours_table, latency_rows, step_text
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.plan import PlanReport
    from planner.report.plan_fleet import FleetReport


def draw_plan(console: Console, report: PlanReport) -> None:
    """Print plans: the answer, the accelerators side by side, and the working of the first.

    Parameters
    ----------
    console : Console
        Where to.
    report : PlanReport
        What.
    """
    console.print(report.sentence, style="bold", markup=False)
    if not report.answered:
        return
    console.print()
    draw_table(console, gpus_table(answer for answer in report if answer.plan is not None))
    plan = report.answer.plan
    if plan is not None:
        console.print()
        console.print(f"Working for {gpu_label(plan.gpu.id)}", style="bold", markup=False)
        draw_facts(console, ((step.name, step_text(step)) for step in steps_of(plan)))
        console.print()
        draw_facts(console, [(f"{gpu_label(plan.gpu.id)} at the peak", ""), *latency_rows(plan)])
        if plan.hours:
            console.print()
            draw_table(console, hours_table(plan))
        assumed = [
            f"{row['name']}: {row['value']} ({row['provenance']})".replace(":  (", " (")
            for row in assumed_table(plan).rows
        ]
        console.print()
        draw_lines(console, "Assumed", assumed)
    notes = [
        *(answer.sentence for answer in report if answer.plan is None),
        *report.scaling(),
        *report.warnings,
    ]
    if notes:
        console.print()
        draw_lines(console, "Notes", notes)


def draw_fleet(console: Console, report: FleetReport) -> None:
    """Print a fleet: the answer, replicas, GPUs, totals, and what was chosen from.

    Parameters
    ----------
    console : Console
        Where to.
    report : FleetReport
        What.
    """
    console.print(report.sentence, style="bold", markup=False)
    for table in report.tables():
        if table.rows:
            console.print()
            draw_table(console, table)
    facts = report.facts()
    if facts:
        console.print()
        draw_facts(console, facts)
    if report.warnings:
        console.print()
        draw_lines(console, "Notes", report.warnings)
