"""`planner verify`: make reports again from their questions, and compare every value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.load_options import Number
from planner.cli.options import Settings, report_options
from planner.cli.output import answer
from planner.errors import PlannerError

if TYPE_CHECKING:
    from rich.console import Console

    from planner.report.verification import Verified, VerifyReport

UNREADABLE, DIFFERS = 2, 5
MOST_SHOWN = 20
"""Differences of each report that the terminal shows; --json has all."""


@click.command(short_help="Make reports again from their questions and compare every value.")
@click.argument("reports", nargs=-1, required=True, metavar="REPORT...")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="FILE",
    help="A file that a report was made from, such as a trace; a report opens no file by itself.",
)
@click.option(
    "--tolerance",
    type=Number(1e-15, 0.5, "a relative difference"),
    metavar="N",
    default="1e-9",
    show_default=True,
    help="Relative difference below which two numbers are the same.",
)
@report_options
@click.pass_obj
def command(
    settings: Settings,
    /,
    reports: tuple[str, ...],
    inputs: tuple[str, ...],
    tolerance: float,
    as_json: bool,
    as_csv: bool,
    out: str | None,
) -> int:
    """Make every REPORT again from the question that it holds, with the present catalogue, and compare.

    REPORT is a file that `--out` wrote as JSON or HTML. Every value is compared: numbers within the
    tolerance, all else as it is. What differs is listed, with what it was and what it is now, and whether
    the catalogue, the prices, the version of planner or a file changed since.

    A report names a question, and nothing of it is run: the question is asked of the function of that name
    after its arguments were checked. Files that it was made from are read only if you name them.

    \b
    Examples:
      planner fit --model kimi-k3 --gpu b200 --out fit.json
      planner verify fit.json
      planner verify signed/*.html --json
      planner verify load.json --input requests.csv --catalogue ours.yaml

    Exit codes: 0 every report says the same, 2 wrong usage, or a file that is no report or cannot be asked
    again, 5 at least one report differs.
    """
    from planner.api import verify
    from planner.report.verification import VerifyReport

    catalogue = settings.catalogue()
    answers: list[Verified] = []
    failed = False
    for file in reports:
        try:
            answers += verify(file, inputs=inputs, tolerance=tolerance, catalogue=catalogue).answers
        except PlannerError as error:
            failed = True
            click.echo(f"planner: {' '.join(str(error).split())}", err=True)
    if answers:
        report = VerifyReport(tuple(answers), tolerance)
        answer(report, lambda console: _draw(console, report), as_json=as_json, as_csv=as_csv, out=out)
    if failed:
        return UNREADABLE
    return 0 if report.same else DIFFERS


def _draw(console: Console, report: VerifyReport) -> None:
    from planner.cli.draw import draw_table
    from planner.report.verification import differences_table

    for one in report.answers:
        console.print(one.sentence, style="bold", markup=False)
    table = differences_table(report, MOST_SHOWN)
    if table.rows:
        console.print()
        draw_table(console, table)
    hidden = sum(max(0, len(one.differences) - MOST_SHOWN) for one in report.answers)
    if hidden:
        console.print(f"and {hidden:,} more; --json has all of them", markup=False)
