"""`planner measure engine`: start an engine with random weights, time it, and keep what it showed."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import click

from planner.cli.options import Count, Settings, catalogue_option, json_option, size, tokens
from planner.cli.output import deliver, json_text, render
from planner.errors import InvalidInput

if TYPE_CHECKING:
    from planner.measurement.engine.plan import EngineRun
    from planner.measurement.engine.running import EngineResult

SCHEMA = "planner.measure.engine/1"
NOT_STARTED = 2
LONGEST_S = 86_400


@click.command(short_help="Start vLLM or SGLang with random weights, and time steps, prefills and a load.")
@click.option("--model", metavar="MODEL", help="Id or alias of the catalogue; no weights are loaded.")
@click.option("--plan", metavar="FILE", help="A YAML file of several runs, instead of --model.")
@click.option("--gpu", required=True, metavar="GPU", help="What this machine's accelerator is called.")
@click.option(
    "--engine", type=click.Choice(["vllm", "sglang"]), default="vllm", show_default=True, help="Which engine."
)
@click.option("--weight-dtype", metavar="DTYPE", help="Format of the weights.  [default: as the checkpoint]")
@click.option("--tp", type=size(), metavar="N", default=1, show_default=True, help="Tensor-parallel size.")
@click.option("--pp", type=size(), metavar="N", default=1, show_default=True, help="Pipeline stages.")
@click.option(
    "--context", type=tokens(), metavar="TOKENS", default=36864, show_default=True, help="Longest request."
)
@click.option(
    "--seconds",
    type=Count(1, LONGEST_S, "seconds"),
    metavar="S",
    default=600,
    show_default=True,
    help="Time of one run; what is not timed by then is left out.",
)
@click.option(
    "--python",
    metavar="FILE",
    help="The interpreter that has the engine, where it is another one.  [default: this one]",
)
@click.option(
    "--work", metavar="DIR", help="Keep configuration, log and raw results there.  [default: nowhere]"
)
@click.option("--folder", metavar="DIR", help="Where the rows go.  [default: your measurements folder]")
@json_option
@catalogue_option
@click.pass_obj
def command(settings: Settings, /, folder: str | None, as_json: bool, **given: Any) -> int:
    """Start an engine on this machine's GPUs with random weights, time it, and keep what it showed.

    Needs no checkpoint and no network: the configuration is the catalogue's. Timed are prompts alone,
    decode steps by batch and context, and a service under load at several concurrencies, at temperature 1,
    each shape warmed up before. The account of memory in its log is kept as well. The engine runs in a
    process of its own and is ended with all its children, also when its time is up.

    \b
    Examples:
      planner measure engine --model qwen3-30b-a3b --gpu h200
      planner measure engine --model qwen3-32b --weight-dtype fp8-dynamic --gpu h200 --tp 2
      planner measure engine --plan runs.yaml --gpu mi300x --python /opt/vllm/bin/python
    """
    import sys
    import tempfile
    from pathlib import Path

    from planner.measurement.engine.keeping import keep
    from planner.measurement.engine.running import run_plan

    catalogue = settings.catalogue()
    card = catalogue.gpu(given["gpu"])
    runs = _runs(given)
    for run in runs:
        catalogue.model(run.model)
    today = datetime.date.today().isoformat()
    with tempfile.TemporaryDirectory(prefix="planner-engine-") as scratch:
        found = run_plan(
            runs,
            catalogue=catalogue,
            directory=Path(given["work"] or scratch),
            python=given["python"] or sys.executable,
            told=lambda text: click.echo(text, err=True),
        )
        written = [keep(result, catalogue, card.id, today, folder) for result in found]
        if given["work"] is None:
            _show_failures(found)
    facts = [_facts(result, paths) for result, paths in zip(found, written, strict=True)]
    if as_json:
        deliver(json_text({"schema": SCHEMA, "gpu": card.id, "runs": facts}), None)
    else:
        _draw(facts)
    return 0 if all(result.timed for result in found) else NOT_STARTED


def _runs(given: dict[str, Any]) -> tuple[EngineRun, ...]:
    from planner.measurement.engine.plan import EngineRun, read_plan

    if (given["model"] is None) == (given["plan"] is None):
        raise InvalidInput("give --model, or --plan with a file of several runs")
    if given["plan"] is not None:
        return read_plan(given["plan"])
    return (
        EngineRun(
            model=given["model"],
            weight_dtype=given["weight_dtype"],
            engine=given["engine"],
            seconds=given["seconds"],
            tp=given["tp"],
            pp=given["pp"],
            max_model_len=given["context"],
        ),
    )


LAST_LINES = 12


def _show_failures(found: list[EngineResult]) -> None:
    """Show the end of the log of an engine that did not start, since it is not kept."""
    for result in found:
        if not result.timed and result.log.exists():
            lines = result.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
            click.echo("\n".join(f"  {line[:200]}" for line in lines), err=True)


def _facts(result: EngineResult, written: list[Any]) -> dict[str, Any]:
    return {
        "model": result.model.id,
        "engine": result.run.engine,
        "points": len(result.run.timed()),
        "timed": result.timed,
        "exit_code": result.exit_code,
        "written": [str(path) for path in written],
        "records": list(result.records),
    }


def _draw(facts: list[dict[str, Any]]) -> None:
    from planner.cli.draw import draw_facts

    lines = [
        (
            run["model"],
            f"{run['timed']} of {run['points']} points timed; {', '.join(run['written']) or 'no rows'}",
        )
        for run in facts
    ]
    render(lambda console: draw_facts(console, lines), None)
