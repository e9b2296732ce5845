"""From the name of a tool and its arguments to its answer: no transport is known here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import planner.api
from planner.api.media_door import is_media
from planner.catalogue import Catalogue
from planner.catalogue.imported import check_catalogued, model_from
from planner.errors import InvalidInput, PlannerError, UnknownName, shorten, unknown_name
from planner.mcp import arguments
from planner.mcp.cutting import cut
from planner.measurement.own_file import own_catalogue
from planner.report.details import gpu_detail, model_detail
from planner.report.listings import gpus_table, models_table
from planner.scenario.records import Scenario

MOST_ROWS = 50
INTERNAL = "internal error"
LAUNCH, MEDIA, MEDIA_ROOT = "launch", "media", "media_models"
FUNCTIONS = {MEDIA: "predict"}
"""Functions of tools that have another name."""


@dataclass(frozen=True, slots=True)
class ToolText:
    """A tool as a client sees it."""

    title: str
    description: str
    asked: type[Scenario]


TOOLS: Mapping[str, ToolText] = {
    "fit": ToolText(
        "Does a model fit",
        "Say whether a language model fits on accelerators, on how many, what limits it, and its KV cache. "
        "Without sizes the smallest deployment that fits is found.",
        arguments.FitAsked,
    ),
    "predict": ToolText(
        "How fast, how sure, at what cost",
        "Say what output rate, time to first token and time per token to expect of a model under a load, "
        "each with the interval that holds four of five measurements, measured or simulated.",
        arguments.PredictAsked,
    ),
    "compare": ToolText(
        "Which accelerator",
        "Compare accelerators for a model and lengths: output, cost per token, order, how sure the order is, "
        "and the price at which it flips. Prices or price_kind are needed for an order by cost.",
        arguments.CompareAsked,
    ),
    "plan": ToolText(
        "How many accelerators for a traffic",
        "Size a deployment for a rate of requests and limits of latency (at least one of slo_ttft_s, "
        "slo_tpot_s, slo_e2e_s): replicas, spares, nodes and cost, with every step.",
        arguments.PlanAsked,
    ),
    "breakeven": ToolText(
        "Where the cheaper of two changes",
        "Say at which price, utilisation, volume, length or load the cheaper of exactly two accelerators "
        "changes, and how sure that is.",
        arguments.BreakEvenAsked,
    ),
    "launch": ToolText(
        "The commands that start it",
        "Print the command lines of vLLM, SGLang, TensorRT-LLM or llama.cpp on every node, or a Kubernetes "
        "or Compose file, with memory flags from the fit, and the load test where isl and osl are given. "
        "Nothing is started.",
        arguments.LaunchAsked,
    ),
    "train": ToolText(
        "How fast a model trains",
        "Say how fast a dense language model trains, in what memory, in which layout, and with tokens in how "
        "many days and at what cost.",
        arguments.TrainAsked,
    ),
    "achieved": ToolText(
        "What products reach",
        "Say which rate matrix products reach on accelerators beside the datasheet, by software and date.",
        arguments.AchievedAsked,
    ),
    "media": ToolText(
        "Pictures, videos, meshes",
        "Say whether a model of pictures, videos or meshes fits on one accelerator, how long a unit takes, "
        "with its interval, and what it costs.",
        arguments.MediaAsked,
    ),
    "models": ToolText(
        "Look up models", "Search the models of the catalogue, or show one in full.", arguments.ModelsAsked
    ),
    "gpus": ToolText(
        "Look up accelerators",
        "Search the accelerators of the catalogue, or show one in full with the source of every figure.",
        arguments.GpusAsked,
    ),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says.

    Parameters
    ----------
    text : str
        The answer in words, or the one line of an error.
    record : dict or None
        The report, cut to a length that can be read; None for an error.
    """

    text: str
    record: dict[str, Any] | None = None


def answer(name: str, given: Mapping[str, Any], hub: bool = False) -> Answer:
    """Answer one call of a tool.

    Parameters
    ----------
    name : str
        The tool.
    given : mapping
        Its arguments as they came.
    hub : bool
        Whether a model that the catalogue lacks may be asked of the hub.

    Returns
    -------
    Answer
        Of an error the text alone, in one line; nothing that is asked raises one.
    """
    try:
        tool = TOOLS.get(name)
        if tool is None:
            raise unknown_name("tool", name, TOOLS)
        asked = _validated(tool.asked, name, given)
        text, record = _looked_up(name, asked) if name in ("models", "gpus") else _reported(name, asked, hub)
        record = {"sentence": text, **cut(record)}
        json.dumps(record, allow_nan=False)
        return Answer(text, record)
    except PlannerError as error:
        return Answer(_one_line(str(error)))
    except Exception as error:  # a fault of ours; what it says may quote paths of this machine
        return Answer(
            f"{INTERNAL}: {type(error).__name__} in {name}; the same question with `planner` says more"
        )


def _validated(record: type[Scenario], name: str, given: Mapping[str, Any]) -> Scenario:
    """Return the arguments of a tool, or say which of them cannot be."""
    stranger = next((key for key in given if key not in record.model_fields), None)
    if stranger is not None:
        raise unknown_name(f"argument of {name}", stranger, record.model_fields)
    missing = [key for key, field in record.model_fields.items() if field.is_required() and key not in given]
    if missing:
        raise InvalidInput(f"{name} needs {' and '.join(missing)}")
    try:
        return record.model_validate(dict(given))
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(record.__name__, name, 1)) from None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:600]


@lru_cache(maxsize=1)
def _catalogue() -> Catalogue:
    """Return the catalogue of this process, with the user's own calibration over it."""
    return own_catalogue()


def _reported(name: str, asked: Scenario, hub: bool) -> tuple[str, dict[str, Any]]:
    """Return what a function of the front door says."""
    book = _catalogue()
    words = asked.model_dump(exclude_unset=True, exclude_none=True)
    if name == MEDIA:
        check_media(words["model"], book)
    elif "model" in words:
        words.setdefault("gpu", getattr(asked, "gpu", None))
        _check_model(words["model"], book, hub)
    report = getattr(planner.api, FUNCTIONS.get(name, name))(catalogue=book, **words)
    record = report.to_dict()
    if name == LAUNCH:  # as it is pasted, and not once more as objects
        record = {"text": report.to_text(), **record, "kubernetes": None}
    return str(report.sentence), record


def check_media(name: str, book: Catalogue) -> None:
    """Refuse what is no media model of the catalogue, and name those that are."""
    try:
        book.resolve(MEDIA_ROOT, name)
    except UnknownName:
        raise InvalidInput(
            f"{shorten(name)} is no media model; there are {', '.join(book.ids(MEDIA_ROOT))}"
        ) from None


def _check_model(name: str, book: Catalogue, hub: bool) -> None:
    """Refuse a model that would be read from this machine, or from the hub unless that is allowed."""
    try:
        check_catalogued(name, book)
    except UnknownName as error:
        if is_media(book, name):
            raise InvalidInput(f"{name} is a media model: ask the tool {MEDIA}") from None
        if not hub or name.count("/") != 1 or name.endswith(".json") or Path(name).exists():
            more = "" if hub else "; this server asks no hub (planner mcp --hub lets it)"
            raise InvalidInput(f"{error}{more}") from None
        model_from(name, book)


def _looked_up(name: str, asked: Any) -> tuple[str, dict[str, Any]]:
    """Return rows of the catalogue that match a search, or one entry in full."""
    book = _catalogue()
    if asked.show is not None:
        if name == "models":
            check_catalogued(asked.show, book)
            detail = model_detail(book.model(asked.show), book)
        else:
            detail = gpu_detail(book.gpu(asked.show), book)
        return detail.heading, detail.to_dict()
    rows = (models_table if name == "models" else gpus_table)(book, asked.search).to_records()
    matching = f" that match {asked.search!r}" if asked.search else ""
    text = f"{len(rows)} {name}{matching}"
    if len(rows) > MOST_ROWS:
        text += f", the first {MOST_ROWS} shown; a search narrows them"
    record = {"schema": f"planner.{name}/1", "matches": len(rows), name: rows[:MOST_ROWS]}
    if name == "models":
        words = asked.search.casefold().split()
        media = [one for one in book.ids(MEDIA_ROOT) if all(word in one for word in words)]
        if media:
            text += f"; media models: {', '.join(media)}"
        record["media_models"] = media
    return text, record
