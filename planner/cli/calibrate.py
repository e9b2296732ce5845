"""`planner calibrate`: fit the time model's parameters to measured serving points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.options import Settings, catalogue_option, json_option
from planner.cli.output import deliver, json_text, render, write_whole
from planner.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from planner.catalogue import Catalogue
    from planner.measurement.calibrate import Calibrated
    from planner.measurement.own_calibration import InSample, Unused

SCHEMA = "planner.calibrate/1"
YAML = (".yaml", ".yml")
MOST_UNUSED = 20


@click.command(short_help="Fit the time model to measured serving points, shipped or your own.")
@click.argument("files", nargs=-1, metavar="[FILES]...")
@click.option("--own", is_flag=True, help="Your own serving points, which import and measure keep, as FILES.")
@json_option
@click.option("--out", metavar="FILE", help="Write the calibration to FILE, a catalogue file.")
@catalogue_option
@click.pass_obj
def command(settings: Settings, files: tuple[str, ...], own: bool, as_json: bool, out: str | None) -> None:
    """Fit the parameters of the time model to measured serving points.

    FILES are CSVs of your own serving points (model, gpu, n_gpus, isl, osl, concurrency and what was
    measured, such as output_tps_per_gpu or tpot_ms_median). They move the level of each set-up that they
    measure, on top of what is known: a few points of each are enough. Without FILES all is fitted anew to
    the shipped points, with groups left out for the intervals, which takes minutes.

    --own takes the points that import and measure keep, and writes your own calibration, which every command
    then reckons with and says so; --out writes another file, which --catalogue takes.

    \b
    Examples:
      planner calibrate ours.csv --out ours.yaml
      planner calibrate --own
      planner validate ours.csv --catalogue ours.yaml
      planner calibrate --out calibration.yaml
    """
    if out is not None and not out.endswith(YAML):
        raise InvalidInput(f"--out {out}: a catalogue file ends in {' or '.join(YAML)}")
    from planner.catalogue import load_catalogue

    if own:
        from planner.measurement.user_folder import some_user_files

        files = (*files, *map(str, some_user_files("serving")))
    # Without the user's own calibration: points would move it twice.
    catalogue = load_catalogue(extra=settings.catalogue_files)
    found, unused, errors = _adapted(catalogue, files) if files else (_anew(catalogue), [], [])
    out = _write(found, out, own)
    facts = {
        "schema": SCHEMA,
        "points": len(found.data),
        "skipped": found.skipped,
        "unused": [{"where": one.where, "reason": one.reason} for one in unused],
        "in_sample_errors": {
            one.quantity: {"points": one.points, "median_before": one.before, "median_after": one.after}
            for one in errors
        },
        "digest": found.digest,
        "source": found.calibration.source,
        "parameters": sorted(found.calibration.levels),
        "models": sorted(found.calibration.seen.get("models", ())),
        "gpus": sorted(found.calibration.seen.get("gpus", ())),
        "out": out,
    }
    if as_json:
        deliver(json_text(facts), None)
    else:
        _draw(found, out, own, unused, errors)


def _adapted(catalogue: Catalogue, files: tuple[str, ...]) -> tuple[Calibrated, list[Unused], list[InSample]]:
    """Return what is known, moved to the user's points, why some teach nothing, and how far it was off."""
    from planner.measurement.own_calibration import adapted, in_sample_errors, unused_points
    from planner.measurement.serving import load_serving_points
    from planner.performance.levels import calibration_of

    points = load_serving_points(files)
    found = adapted(points, catalogue)
    errors = in_sample_errors(found.data, calibration_of(catalogue), found.calibration)
    return found, unused_points(points, catalogue), errors


def _write(found: Calibrated, out: str | None, own: bool) -> str | None:
    """Write the calibration where it was asked for, or where every command looks for it."""
    from pathlib import Path

    from planner.measurement.calibrate import calibration_yaml
    from planner.measurement.own_file import marked, own_calibration_file

    if out is not None:
        write_whole(Path(out), calibration_yaml(found))
    elif own:
        out = str(own_calibration_file())
        write_whole(Path(out), marked(calibration_yaml(found)))
    return out


def _anew(catalogue: Catalogue) -> Calibrated:
    from planner.measurement.calibrate import calibrate

    return calibrate(catalogue=catalogue, told=lambda text: click.echo(text, err=True))


def _draw(
    found: Calibrated, out: str | None, own: bool, unused: list[Unused], errors: list[InSample]
) -> None:
    from planner.cli.draw import draw_facts, draw_lines, draw_table
    from planner.report.in_sample import in_sample_table

    seen = found.calibration.seen
    written = "nothing; --out FILE keeps it"
    if out is not None:
        written = f"{out}; every command uses it now" if own else f"{out}; --catalogue {out} uses it"
    facts = [
        ("points", f"{len(found.data):,} used, {found.skipped:,} cannot be predicted"),
        (
            "models",
            f"{len(seen.get('models', ())):,} measured, on {len(seen.get('gpus', ())):,} accelerators",
        ),
        ("from", found.calibration.source),
        ("written", written),
    ]

    def draw(console: Console) -> None:
        draw_facts(console, facts)
        if errors:
            console.print()
            draw_table(console, in_sample_table(errors))
        if unused:
            console.print()
            lines = [f"{one.where}: {one.reason}" for one in unused[:MOST_UNUSED]]
            more = [f"and {len(unused) - MOST_UNUSED} more; --json names all"]
            draw_lines(
                console,
                "Rows that teach nothing",
                lines + (more if len(unused) > MOST_UNUSED else []),
            )

    render(draw, None)
