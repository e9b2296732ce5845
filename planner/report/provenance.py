"""Where a report comes from, as facts: the version, the catalogue, the user's files, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.economics import PricePerHour
from planner.report.reproduction import Reproduction
from planner.report.table import Column, Table

SOURCE_COLUMNS = (
    Column("what", "what"),
    Column("source", "source", flexible=True),
    Column("date", "date"),
    Column("url", "address", flexible=True),
)


def origin_facts(made: Reproduction) -> list[tuple[str, str]]:
    """Return what a report was answered from.

    Parameters
    ----------
    made : Reproduction
        The question.

    Returns
    -------
    list of (label, text)
    """
    facts = [
        ("made on", made.made_on),
        ("planner", made.planner_version),
        ("catalogue digest", made.catalogue_digest),
    ]
    facts += [(f"{file.role} file", f"{file.name} (sha256 {file.sha256})") for file in made.files]
    if not made.complete:
        names = ", ".join(made.unrecorded)
        facts.append(("not recorded", f"{names}: given as records that the catalogue does not hold"))
    return facts


def sources_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return where figures come from, each source once.

    Parameters
    ----------
    rows : iterable of mapping
        `what`, `source`, `date` and `url` of each.

    Returns
    -------
    Table
    """
    seen = {tuple(row.get(column.key) for column in SOURCE_COLUMNS): row for row in rows}
    return Table(SOURCE_COLUMNS, tuple(seen.values()), "Sources")


def price_rows(gpu: str, price: PricePerHour | None) -> list[dict[str, Any]]:
    """Return the sources of a price: one row for each quote, or that the user stated it.

    Parameters
    ----------
    gpu : str
        What people call the accelerator.
    price : PricePerHour or None
        Its price.

    Returns
    -------
    list of dict
        Rows of `sources_table`.
    """
    if price is None:
        return []
    if not price.quotes:
        what = f"price of {gpu}, {price.usd_per_gpu_hour:,.2f} USD/h"
        return [{"what": what, "source": price.provenance}]
    return [
        {
            "what": f"price of {gpu}, {quote.kind.value}, {quote.usd_per_gpu_hour:,.2f} USD/h",
            "source": f"{quote.provider}: {quote.source.title}",
            "date": quote.date,
            "url": quote.source.url,
        }
        for quote in price.quotes
    ]


def price_record(price: PricePerHour | None, gpus: int) -> dict[str, Any] | None:
    """Return a price as plain data: per GPU and of all, with the quotes or the parts that it is made of.

    Parameters
    ----------
    price : PricePerHour or None
        Of one GPU.
    gpus : int
        GPUs that are paid for.

    Returns
    -------
    dict or None
    """
    if price is None:
        return None
    return {
        "usd_per_gpu_hour": price.usd_per_gpu_hour,
        "usd_per_hour": gpus * price.usd_per_gpu_hour,
        "kind": price.kind,
        "provenance": price.provenance,
        "quotes": [
            {"provider": quote.provider, "usd_per_gpu_hour": quote.usd_per_gpu_hour, "date": quote.date}
            for quote in price.quotes
        ],
        "parts": parts_record(price),
    }


def parts_record(price: PricePerHour) -> list[dict[str, Any]]:
    """Return the parts of what owning costs; none of a price that was quoted or stated."""
    return [
        {"part": one.name, "usd_per_gpu_hour": one.usd_per_gpu_hour, "provenance": one.provenance}
        for one in price.parts
    ]
