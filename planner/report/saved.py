"""The deployment that a saved report is about, as arguments that ask for it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.catalogue import Catalogue, Gpu
from planner.errors import InvalidInput, PlannerError, UnknownName, shorten
from planner.planning.sizing import Sizes
from planner.report.base import Report
from planner.report.reading import SavedReport, read_report
from planner.scenario import Deployment, Workload

SCHEMAS = ("planner.fit/1", "planner.plan/1", "planner.compare/1")
LAYOUT = ("tp", "pp", "ep", "dp", "dcp")

TAKEN = frozenset({*Deployment.model_fields, *Sizes.model_fields, *Workload.model_fields, "draft"}) - {
    "prefix_hit"
}
"""Arguments of a report's question that say how it is deployed and loaded."""


def saved_question(
    saved: str | Report, gpu: str | Gpu | None, catalogue: Catalogue, *, own_model: bool = False
) -> dict[str, Any]:
    """Return what a saved report of `fit`, `plan` or `compare` asks to be started.

    Parameters
    ----------
    saved : str or Report
        The report: a file of JSON or HTML, or one that was just made.
    gpu : str, Gpu or None
        Which of its accelerators; the first that has an answer by default.
    catalogue : Catalogue
        Where names are looked up: a report's word opens no file.
    own_model : bool
        Whether a model is given beside the report, so that its own is not looked up.

    Returns
    -------
    dict
        Arguments of `planner.launch`, with `replicas` from a plan.

    Raises
    ------
    InvalidInput
        With the file, when it is no such report or has no answer to start.
    """
    report = _made(saved) if isinstance(saved, Report) else read_report(saved)
    path, schema = report.file, report.record.get("schema")
    if schema not in SCHEMAS:
        raise InvalidInput(
            f"{path}: a report of schema {shorten(schema)} names no deployment; {', '.join(SCHEMAS)} do"
        )
    result = _result(report, gpu, catalogue)
    found = {key: value for key, value in report.reproduction.arguments.items() if key in TAKEN}
    found.pop("gpus", None)
    found |= {key: _whole(path, key, result.get(key)) for key in LAYOUT}
    model, card = report.record.get("model"), result.get("gpu")
    try:
        if not own_model:
            found["model"] = catalogue.model(_name(path, "model", model)).id
        found["gpu"] = catalogue.gpu(_name(path, "gpu", card)).id
    except UnknownName as error:
        raise InvalidInput(f"{path}: {error}; name it beside the report") from None
    if (as_called := _quantised(report, catalogue)) is not None:
        found.setdefault("weight_dtype", as_called)
    if schema == "planner.plan/1":
        found["replicas"] = _whole(path, "replicas", result.get("replicas"))
        found["request_rate"] = _share_of_rate(result)
        found.pop("concurrency", None)
    return found


def _made(report: Report) -> SavedReport:
    """Return a report of this process as its file would have it."""
    if report.reproduction is None:
        raise InvalidInput("saved: a report made by hand holds no question; name the deployment instead")
    return SavedReport("the report", report.to_dict(), report.reproduction, None)


def _quantised(report: SavedReport, catalogue: Catalogue) -> str | None:
    """Return the quantisation that the model's name in the question stands for, or None."""
    from planner.catalogue.imported import model_from

    name = report.reproduction.arguments.get("model")
    try:
        catalogue.resolve("models", name if isinstance(name, str) else "")
    except PlannerError:
        return None
    return model_from(str(name), catalogue).quantisation


def _result(report: SavedReport, gpu: str | Gpu | None, catalogue: Catalogue) -> Mapping[str, Any]:
    """Return the answer for an accelerator, or the first one that there is."""
    record = report.record
    results = record.get("results", [record])
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise InvalidInput(f"{report.file}: its results are {shorten(results)}; a list of answers is needed")
    if gpu is not None:
        wanted = gpu.id if isinstance(gpu, Gpu) else catalogue.gpu(gpu).id
        results = [one for one in results if one.get("gpu") == wanted]
        if not results:
            raise InvalidInput(f"{report.file}: it has no answer for {wanted}")
    answered = [one for one in results if one.get("planned", one.get("fits", True)) and "tp" in one]
    if not answered:
        raise InvalidInput(f"{report.file}: nothing in it fits or is planned, so there is nothing to start")
    first: Mapping[str, Any] = answered[0]
    return first


def _share_of_rate(result: Mapping[str, Any]) -> float | None:
    """Return the requests that one working server gets at the peak [1/s]."""
    rate, servers = result.get("peak_requests_per_s"), result.get("working_replicas")
    number = isinstance(rate, int | float) and isinstance(servers, int) and servers > 0
    return rate / servers if number else None  # type: ignore[operator]


def _whole(path: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{path}: its {name} is {shorten(value)}; a whole number is needed")
    return value


def _name(path: str, what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{path}: its {what} is {shorten(value)}; a name is needed")
    return value
