"""`planner validate`: predict what was measured, and say how wrong the predictions are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from planner.cli.options import Settings, catalogue_option, json_option
from planner.cli.output import deliver, json_text, render, write_page
from planner.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from planner.measurement.validate_file import AnyValidation
    from planner.report.validated import ValidateReport

SEVERAL = "planner.validate.several/1"


@click.command(short_help="Predict what was measured and say how wrong the predictions are.")
@click.argument("file", required=False, metavar="[FILE]")
@json_option
@click.option(
    "--out",
    metavar="FILE",
    help="Also write every row with its predictions to FILE, as CSV; .json, .md or .html: the report itself.",
)
@catalogue_option
@click.pass_obj
def command(settings: Settings, file: str | None, as_json: bool, out: str | None) -> None:
    """Predict every row of FILE that can be predicted, compare with what was measured, and report the errors.

    FILE is a CSV of start-up logs of inference engines (engine, model, gpu, tp and what the start-up printed,
    such as weights_gib, kv_tokens or outcome), or of serving points (model, gpu, n_gpus, isl, osl, load and
    what was measured, such as output_tps_per_gpu or tpot_ms_median). Without FILE it is your own serving
    points, every file that planner import and planner measure keep. Rows that cannot be predicted are
    counted by reason and never dropped silently.

    \b
    Examples:
      planner validate
      planner validate logs.csv --json
      planner validate logs.csv --out predicted.csv
      planner validate points.csv --out accuracy.html
    """
    from planner.api import validate
    from planner.measurement.user_folder import some_user_files, the_user_file

    if file is None and out is None and len(own := some_user_files("serving")) > 1:
        catalogue = settings.catalogue()
        _show_several([validate(str(path), catalogue=catalogue) for path in own], as_json)
        return
    file = the_user_file("serving") if file is None else file
    if out is not None:
        _check_target(out, file)
    report = validate(file, catalogue=settings.catalogue())
    if out is not None and not write_page(report, out):
        from planner.measurement.validate_file import write_validation

        write_validation(report.result, out)
    if as_json:
        deliver(json_text(report.to_dict()), None)
    else:
        render(lambda console: _draw(console, report.result), None)


def _show_several(reports: list[ValidateReport], as_json: bool) -> None:
    """Show the reports of several files, one after the other."""
    if as_json:
        files = [report.to_dict() for report in reports]
        deliver(json_text({"schema": SEVERAL, "files": files}), None)
        return

    def draw(console: Console) -> None:
        for report in reports:
            console.print(report.result.table.file, style="bold", markup=False)
            _draw(console, report.result)
            console.print()

    render(draw, None)


def _check_target(out: str, file: str) -> None:
    """Refuse to write over the measurements themselves, and over what is no file."""
    if not os.path.exists(out):
        return
    if not os.path.isfile(out):
        raise InvalidInput(f"--out {out}: cannot be written: it is no file; name a new one")
    if os.path.exists(file) and os.path.samefile(out, file):
        raise InvalidInput(f"--out {out}: that is the file of the measurements; name another")


def _draw(console: Console, result: AnyValidation) -> None:
    from planner.cli.draw import draw_facts, draw_lines, draw_table
    from planner.report.validation import errors_table, headlines_table, shown_groups, verdict_facts
    from planner.report.validation_rows import (
        disagreement_lines,
        doubt_lines,
        misses_table,
        skipped_lines,
    )

    console.print(f"{result.predicted} of {result.rows} rows predicted", style="bold", markup=False)
    draw_facts(console, verdict_facts(result))
    console.print()
    draw_table(console, errors_table(result))
    for group in shown_groups(result):
        console.print()
        draw_table(console, headlines_table(result, group))
    misses = misses_table(result)
    if misses.rows:
        console.print()
        draw_table(console, misses)
    if named := disagreement_lines(result):
        console.print()
        draw_lines(console, "Where a step is mispredicted, the largest disagreement first", named)
    if doubts := doubt_lines(result):
        console.print()
        draw_lines(console, "Rows that cannot be so", doubts)
    if result.skipped_rows:
        console.print()
        draw_lines(console, "Rows that were not predicted", skipped_lines(result))
