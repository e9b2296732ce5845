"""From the options of `planner measure endpoint` to a run, and from the run to its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from planner.catalogue import Catalogue
from planner.cli.options import Settings
from planner.errors import InvalidInput, UnknownName
from planner.measurement.endpoint.address import parse_address
from planner.measurement.endpoint.journal import Kept, read_journal
from planner.measurement.endpoint.records import Endpoint, EndpointLoad
from planner.measurement.endpoint.rows import keeps, tidy_rows
from planner.measurement.endpoint.run import Measured, measure_endpoint
from planner.measurement.endpoint.summary import summarise_point
from planner.measurement.user_folder import append_rows, user_folder
from planner.report.endpoint import EndpointReport

RUNS = "endpoint_runs"
STATED = ("tp", "pp", "ep", "dp", "weight_dtype", "kv_dtype", "engine", "spec_decode")
LOAD = (
    "arrivals",
    "cv",
    "lengths",
    "length_cv",
    "isl",
    "osl",
    "trace",
    "requests",
    "warmup",
    "prefix_hit",
    "seed",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that is ready to begin, or to go on."""

    endpoint: Endpoint
    load: EndpointLoad
    facts: dict[str, Any]
    save: Path
    kept: Kept | None
    api_key_env: str | None
    catalogue: Catalogue

    def measure(self, progress: Callable[[int, int, str], None] | None) -> Measured:
        """Run it."""
        run = measure_endpoint(
            self.endpoint,
            self.load,
            save=self.save,
            kept=self.kept,
            facts=self.facts,
            api_key_env=self.api_key_env,
            progress=progress,
        )
        if run.facts.get("gpu") and not run.facts.get("model") and run.server:
            run.facts["model"] = _known(self.catalogue, run.server["served_model"])
        return run


def planned(settings: Settings, url: str | None, asked: dict[str, Any]) -> Plan:
    """Return the run that the options describe.

    Parameters
    ----------
    settings : Settings
        Of the command line.
    url : str or None
        The server; None for a run that is resumed.
    asked : dict
        The options.

    Returns
    -------
    Plan
    """
    catalogue = settings.catalogue()
    if asked["resume"] is not None:
        path = Path(asked["resume"])
        kept = read_journal(path)
        if url is not None and parse_address(url) != parse_address(kept.endpoint.url):
            raise InvalidInput(
                f"--resume {path}: is a run against {kept.endpoint.url}; leave out the address"
            )
        return Plan(kept.endpoint, kept.load, kept.facts, path, kept, asked["api_key_env"], catalogue)
    assert url is not None
    parse_address(url)
    endpoint = Endpoint(
        url=url,
        api=asked["api"],
        served_model=asked["served_model"],
        temperature=asked["temperature"],
        timeout_s=asked["timeout_s"],
    )
    load = EndpointLoad(
        concurrency=asked["concurrency"] or (),
        rate_per_s=asked["request_rate"],
        **{name: asked[name] for name in LOAD},
    )
    save = Path(asked["save"]) if asked["save"] else _new_file(asked["folder"])
    return Plan(endpoint, load, _facts(catalogue, asked), save, None, asked["api_key_env"], catalogue)


def _new_file(folder: str | None) -> Path:
    now = datetime.now(UTC)
    return user_folder(folder) / RUNS / f"{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond:06d}.jsonl"


def _facts(catalogue: Catalogue, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what the user says of the deployment, with the names that the catalogue has."""
    if (asked["gpu"] is None) != (asked["gpus"] is None):
        missing = "--gpus" if asked["gpus"] is None else "--gpu"
        raise InvalidInput(f"{missing} is missing: a measurement is kept with the accelerator and how many")
    facts = {name: asked[name] for name in STATED}
    if asked["gpu"] is not None:
        gpu = catalogue.gpu(asked["gpu"])
        facts |= {"gpu": gpu.id, "vendor": gpu.vendor, "n_gpus": asked["gpus"]}
    if asked["model"] is not None:
        facts["model"] = catalogue.model(asked["model"]).id
    return facts


def _known(catalogue: Catalogue, served: str) -> str | None:
    """Return the catalogue's name of what is served, where it has one."""
    try:
        return catalogue.model(served).id
    except UnknownName:
        return None


def finished(run: Measured, folder: str | None) -> EndpointReport:
    """Return the report of a run, and add its points to the user's measurements where they can be.

    Parameters
    ----------
    run : Measured
        What was measured.
    folder : str or None
        Where the user's measurements lie; None for the usual folder.

    Returns
    -------
    EndpointReport
    """
    points = tuple(summarise_point(point, run.load) for point in run.points)
    return EndpointReport(run=run, points=points, kept=_keep(run, points, folder))


def _keep(run: Measured, points: tuple[Any, ...], folder: str | None) -> str:
    if run.facts.get("gpu") is None:
        return "nothing among your measurements: --gpu and --gpus say on what this ran"
    if run.facts.get("model") is None:
        served = run.server["served_model"]
        return f"nothing among your measurements: the catalogue has no {served}; name it with --model"
    rows = tidy_rows(run, points, datetime.now(UTC).date())
    if not rows:
        return "nothing among your measurements: no point ended with enough answers"
    done = append_rows("serving", rows, name="endpoint", folder=folder)
    left = sum(not keeps(point) for point in points)
    parts = [f"{len(done.added)} of {len(points)} points added to {done.path}"]
    if done.repeated:
        parts.append(f"{len(done.repeated)} stood there already")
    if left:
        parts.append(f"{left} did not end, or failed too often")
    return "; ".join(parts)
