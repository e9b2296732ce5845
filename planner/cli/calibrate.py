"""`planner calibrate`: fit the time model's parameters to measured serving points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.options import Settings, catalogue_option, json_option
from planner.cli.output import deliver, json_text, render, write_whole
from planner.errors import InvalidInput

if TYPE_CHECKING:
    from planner.catalogue import Catalogue
    from planner.measurement.calibrate import Calibrated

SCHEMA = "planner.calibrate/1"
YAML = (".yaml", ".yml")


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

    --out writes a catalogue file; with --catalogue any command then reckons with it.

    \b
    Examples:
      planner calibrate ours.csv --out ours.yaml
      planner calibrate --own --out ours.yaml
      planner validate ours.csv --catalogue ours.yaml
      planner calibrate --out calibration.yaml
    """
    if out is not None and not out.endswith(YAML):
        raise InvalidInput(f"--out {out}: a catalogue file ends in {' or '.join(YAML)}")
    if own:
        from planner.measurement.user_folder import some_user_files

        files = (*files, *map(str, some_user_files("serving")))
    catalogue = settings.catalogue()
    found = _adapted(catalogue, files) if files else _anew(catalogue)
    if out is not None:
        from pathlib import Path

        from planner.measurement.calibrate import calibration_yaml

        write_whole(Path(out), calibration_yaml(found))
    facts = {
        "schema": SCHEMA,
        "points": len(found.data),
        "skipped": found.skipped,
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
        _draw(found, out)


def _adapted(catalogue: Catalogue, files: tuple[str, ...]) -> Calibrated:
    """Return what is known already, moved to the user's points."""
    from planner.measurement.calibrate import Calibrated, adapt, cases_of, digest_of
    from planner.measurement.serving import load_serving_points
    from planner.performance.levels import calibration_of

    points = load_serving_points(files)
    data, skipped = cases_of(points, catalogue)
    calibration = adapt(calibration_of(catalogue), points, catalogue)
    return Calibrated(calibration, data, {}, skipped, digest_of(data.cases))


def _anew(catalogue: Catalogue) -> Calibrated:
    from planner.measurement.calibrate import calibrate

    return calibrate(catalogue=catalogue, told=lambda text: click.echo(text, err=True))


def _draw(found: Calibrated, out: str | None) -> None:
    from planner.cli.draw import draw_facts

    seen = found.calibration.seen
    facts = [
        ("points", f"{len(found.data):,} used, {found.skipped:,} cannot be predicted"),
        (
            "models",
            f"{len(seen.get('models', ())):,} measured, on {len(seen.get('gpus', ())):,} accelerators",
        ),
        ("from", found.calibration.source),
        ("written", f"{out}; --catalogue {out} uses it" if out else "nothing; --out FILE keeps it"),
    ]
    render(lambda console: draw_facts(console, facts), None)
