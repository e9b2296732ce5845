"""The scenario that all pages share: what each value may be, how a link writes it, and what a link had wrong.

A link is text of a stranger. Every value of it is held against the catalogue or a range before anything is
asked with it, so that no link makes the server read a file or fetch a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Catalogue, PriceKind
from planner.catalogue.imported import model_from
from planner.cli.money_options import MOST_KW, MOST_USD, MOST_YEARS
from planner.cli.options import (
    HIGHEST_PRICE,
    LARGEST_REQUESTS,
    LARGEST_SIZE,
    LARGEST_TOKENS,
    LOWEST_PRICE,
)
from planner.cli.plan_options import MOST_SPARES, MOST_USERS
from planner.economics import OWN, PURCHASE
from planner.errors import InvalidInput, PlannerError, shorten, unknown_name
from planner.planning.traffic import HIGHEST_FACTOR, HOURS, profile_of
from planner.units import parse_count

Scenario = dict[str, Any]
"""Values by argument of the front door; what is not there was not given."""

OWN_MODEL = "your config.json"
"""Stands for the model that was uploaded in this session; no link can name it."""

MOST_GPUS = 8
LONGEST_VALUE = 500
ENGINES = ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "mlc-llm", "exllamav2")
WEIGHT_DTYPES = ("bf16", "fp8", "mxfp4", "nvfp4", "int8", "int4", "q4_k_m", "q8_0")
KV_DTYPES = ("auto", "bf16", "fp8")
PRICE_KINDS = (*(kind.value for kind in PriceKind), OWN, PURCHASE)
DENSE = (
    *("llama-3.1-70b", "llama-3.1-8b", "llama-3.1-405b", "llama-2-7b", "llama-2-13b", "llama-2-70b"),
    *("gpt-3-175b", "mistral-7b-v0.1", "qwen2.5-7b", "qwen2.5-72b", "qwen3-32b", "olmo-3-7b"),
)
"""Dense models that people train, for who asked about one with experts."""
TRAINING = {
    "train_dtype": ("bf16", "fp8"),
    "method": ("full", "lora", "qlora"),
    "stack": ("stable", "development"),
}
"""Words that a training may say, the usual one first."""
MOST_TRAINING_GPUS, TOKENS_TRAINED = 16_384, (1e9, 1e15)
MEDIA_FORMATS = ("bf16", "fp16", "fp8", "nvfp4", "mxfp4")
MEDIA_NUMBERS = {
    "width": (16, 8192, 16),
    "height": (16, 8192, 16),
    "frames": (1, 2001, 4),
    "latents": (64, 16_384, 64),
    "octree": (16, 1024, 16),
    "steps": (1, 200, 1),
}
"""Sizes of media that are whole numbers: least, most, step."""
MOST_GUIDANCE, MEDIA_RATES = 50.0, (0.0001, 10_000.0)
HOURS_A_DAY = (0.1, 24.0)
"""Least and most hours of a day in which a bought card works."""

BOUGHT = ("purchase", "hours_a_day")
OFF_GPU = ("ngl", "host")
"""Arguments of cards that are bought, and of layers that the CPU runs."""

OWNING_TERMS = {
    "cost_of_capital": (0.0, 0.99),
    "life_years": (0.1, MOST_YEARS),
    "colocation": (0.0, 1e5),
    "electricity": (0.0, 10.0),
    "pue": (1.0, 4.0),
    "resale": (0.0, 0.99),
    "network_capex": (0.0, MOST_USD),
    "spares": (0.0, 0.99),
    "staff": (0.0, MOST_USD),
}
"""Terms on which accelerators are owned: least and most."""
OWNED = ("capex", "kw", *OWNING_TERMS)
"""Arguments of accelerators that are owned."""

WORKED_EXAMPLE: Mapping[str, Any] = {
    "model": "kimi-k3",
    "gpu": ("mi355x", "b200-sxm", "b300-sxm"),
    "isl": 1024,
    "osl": 400,
    "context": 131072,
    "price": {"mi355x": 2.50, "b200-sxm": 4.25, "b300-sxm": 6.00},
}
"""What the first screen answers before anybody has asked."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a scenario.

    Parameters
    ----------
    read : callable
        From the text of a link and a catalogue to the value; `InvalidInput` or another `PlannerError` says
        what is wrong.
    write : callable
        From the value to that text.
    """

    read: Callable[[str, Catalogue], Any]
    write: Callable[[Any], str] = str


def _count(most: int, what: str, least: int = 1) -> Field:
    def read(text: str, _: Catalogue) -> int:
        number = parse_count(text)
        if not least <= number <= most:
            raise InvalidInput(f"{shorten(text)} is out of range; {least} to {most:,} {what}")
        return number

    return Field(read)


def _number(least: float, most: float) -> Field:
    def read(text: str, _: Catalogue) -> float:
        return _in_range(text, least, most)

    return Field(read, _plain_number)


def _in_range(text: str, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise InvalidInput(f"{shorten(text)} is no number from {least:g} to {most:,g}")
    return number


def _plain_number(value: float) -> str:
    return f"{value:.10g}"


def _word(kind: str, words: tuple[str, ...]) -> Field:
    def read(text: str, _: Catalogue) -> str:
        if text not in words:
            raise unknown_name(kind, text, words)
        return text

    return Field(read)


def _read_model(text: str, catalogue: Catalogue) -> str:
    """Return the id of a model of the catalogue; paths and repositories on the hub are not looked at."""
    name = catalogue.resolve("models", text)
    implied = model_from(text, catalogue).quantisation
    if implied is not None:
        raise InvalidInput(f"{shorten(text)} names a format too; write model={name}&weight_dtype={implied}")
    return name


def _read_gpus(text: str, catalogue: Catalogue) -> tuple[str, ...]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(names) <= MOST_GPUS:
        raise InvalidInput(f"{shorten(text)}: 1 to {MOST_GPUS} accelerators can be compared")
    return tuple(dict.fromkeys(catalogue.resolve("gpus", name) for name in names))


def _prices(most: float) -> Field:
    def read(text: str, catalogue: Catalogue) -> dict[str, float]:
        prices: dict[str, float] = {}
        for pair in text.split(","):
            name, equals, number = (part.strip() for part in pair.partition("="))
            if not equals:
                raise InvalidInput(f"{shorten(pair)} is no price; write it like b200=4.25,mi355x=2.50")
            prices[catalogue.resolve("gpus", name)] = _in_range(number, LOWEST_PRICE, most)
        return prices

    return Field(read, _write_prices)


def _write_prices(prices: Mapping[str, float]) -> str:
    return ",".join(f"{gpu}={_plain_number(usd)}" for gpu, usd in prices.items())


def read_hours(text: str) -> str | tuple[float, ...]:
    """Return the hours of a day from a name of them, or from 24 numbers between commas, blanks or lines.

    Raises
    ------
    InvalidInput
        For what is neither.
    """
    parts = text.replace(",", " ").replace(";", " ").split()
    hours = profile_of(",".join(parts)) if parts else ()
    if isinstance(hours, str):
        return hours
    if len(hours) != HOURS or not all(0 <= hour < math.inf for hour in hours) or not any(hours):
        raise InvalidInput(f"{shorten(text)}: {HOURS} numbers are needed, none below 0 and not all of them 0")
    return hours


def _write_hours(hours: str | tuple[float, ...]) -> str:
    return hours if isinstance(hours, str) else ",".join(map(_plain_number, hours))


FIELDS: Mapping[str, Field] = {
    "model": Field(_read_model),
    "gpu": Field(_read_gpus, ",".join),
    "isl": _count(LARGEST_TOKENS, "tokens"),
    "osl": _count(LARGEST_TOKENS, "tokens"),
    "context": _count(LARGEST_TOKENS, "tokens"),
    "concurrency": _count(LARGEST_REQUESTS, "requests"),
    "request_rate": _number(1e-6, 1e6),
    "users": _count(MOST_USERS, "users"),
    "requests_per_user_hour": _number(1e-6, 1e5),
    "think_s": _number(0, 1e6),
    "peak_factor": _number(1, HIGHEST_FACTOR),
    "profile": Field(lambda text, _: read_hours(text), _write_hours),
    "price": _prices(HIGHEST_PRICE),
    "price_kind": _word("price kind", PRICE_KINDS),
    "purchase": _prices(MOST_USD),
    "capex": _prices(MOST_USD),
    "kw": _prices(MOST_KW),
    **{name: _number(least, most) for name, (least, most) in OWNING_TERMS.items()},
    "hours_a_day": _number(*HOURS_A_DAY),
    "engine": _word("engine", ENGINES),
    "weight_dtype": _word("weight dtype", WEIGHT_DTYPES),
    "kv_dtype": _word("KV dtype", KV_DTYPES),
    "gpus": _count(LARGEST_SIZE, "GPUs"),
    "tp": _count(LARGEST_SIZE, "GPUs"),
    "pp": _count(LARGEST_SIZE, "GPUs"),
    "ngl": _count(LARGEST_SIZE, "layers", 0),
    "host": Field(lambda text, catalogue: catalogue.resolve("hosts", text)),
    "slo_ttft_s": _number(1e-4, 1e5),
    "slo_tpot_s": _number(1e-5, 1e4),
    "slo_e2e_s": _number(1e-4, 1e6),
    "utilisation": _number(0.001, 1),
    "peak_utilisation": _number(0.01, 1),
    "spare": _count(MOST_SPARES, "nodes", 0),
    "train_model": _word("dense model", DENSE),
    "train_gpus": _count(MOST_TRAINING_GPUS, "GPUs"),
    **{name: _word(name, words) for name, words in TRAINING.items()},
    "train_tokens": _number(*TOKENS_TRAINED),
    "media_model": Field(lambda text, catalogue: catalogue.resolve("media_models", text)),
    "media_gpu": Field(_read_gpus, ",".join),
    **{f"media_{name}": _count(most, name, least) for name, (least, most, _) in MEDIA_NUMBERS.items()},
    "media_guidance": _number(0, MOST_GUIDANCE),
    "media_weights": _word("format", MEDIA_FORMATS),
    "media_offload": _word("answer", ("yes",)),
    "media_price": _prices(HIGHEST_PRICE),
    "media_rate": _number(*MEDIA_RATES),
}


def read_link(query: Mapping[str, str], catalogue: Catalogue) -> tuple[Scenario, list[str]]:
    """Return the scenario of a link over the worked example, and a line for each value that was refused.

    Parameters
    ----------
    query : mapping
        Parameters of the link.
    catalogue : Catalogue
        Where names are looked up.

    Returns
    -------
    Scenario, list of str
        What every page needs and the link lacks is that of the worked example.
    """
    scenario: Scenario = {} if query else dict(WORKED_EXAMPLE)
    refused: list[str] = []
    for name, text in query.items():
        if name not in FIELDS:
            refused.append(f"{name[:40]}: {unknown_name('value of a link', name[:40], FIELDS)}")
            continue
        try:
            if len(text) > LONGEST_VALUE:
                raise InvalidInput(f"longer than {LONGEST_VALUE} characters")
            scenario[name] = FIELDS[name].read(text, catalogue)
        except PlannerError as error:
            refused.append(f"{name}: {error}")
    for name in ("model", "gpu", "isl", "osl"):
        scenario.setdefault(name, WORKED_EXAMPLE[name])
    return scenario, refused


def write_link(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of the link that brings a scenario back; an uploaded model is not among them."""
    return {
        name: FIELDS[name].write(value)
        for name, value in scenario.items()
        if value is not None and value != {} and value != OWN_MODEL
    }


def arguments(scenario: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return what a function of the front door is asked with.

    Parameters
    ----------
    scenario : mapping
        The scenario.
    names : tuple of str
        Arguments that the page asks with.

    Returns
    -------
    dict
        Only what was given; prices of accelerators that are not asked about are left out, and those that were
        typed where published ones are asked for, or where cards are bought. A host counts where layers are
        left to it, and terms of owning where a price is what owning costs.
    """
    asked = {name: scenario[name] for name in names if scenario.get(name) is not None}
    for name in {"price", "purchase", "capex", "kw"} & asked.keys():
        asked[name] = {gpu: usd for gpu, usd in asked[name].items() if gpu in asked.get("gpu", ())}
        if not asked[name]:
            del asked[name]
    bought = any(name in asked for name in BOUGHT)
    owned = "price_kind" not in names or (OWN in asked.get("price_kind", "").split(",") and not bought)
    idle = {
        "price": bought or "price_kind" in asked,
        "price_kind": bought,
        "host": "ngl" not in asked,
        **dict.fromkeys(OWNED, not owned),
    }
    asked = {name: value for name, value in asked.items() if not idle.get(name)}
    if "gpu" in asked:  # as the command line has it, so that the answers are alike to the last letter
        asked["gpu"] = FIELDS["gpu"].write(asked["gpu"])
    return asked
