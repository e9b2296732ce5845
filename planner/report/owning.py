"""What a GPU costs to own, as a report: its parts, the accounts' view, and what renting it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Catalogue, Gpu, PriceKind
from planner.economics import (
    DOLLAR,
    HOURS_PER_MONTH,
    OWNING_ARGUMENTS,
    Currency,
    Owned,
    PricePerHour,
    book_view,
    catalogue_price,
    flip_utilisation,
    usd_per_month,
)
from planner.economics.kinds import PAID_WHEN_USED
from planner.errors import Unsupported
from planner.report.base import Report
from planner.report.provenance import parts_record, sources_table
from planner.report.table import Column, Table, records_to_csv

TOLD_AS = {field: name.replace("_", " ") for name, field in OWNING_ARGUMENTS.items()}
"""What people call the fields of the terms."""

RECORD_KEYS = ("gpu", "part", "usd_per_gpu_hour", "share", "provenance")


def _money(value: float) -> str:
    return f"{value:,.3f}"


def caveat_sentence(price: PricePerHour) -> str:
    """Return the weightiest caveat of a price as a sentence; empty where there is none."""
    if not price.caveats:
        return ""
    caveat = price.caveats[0]
    return f"{caveat[:1].upper()}{caveat[1:]}."


@dataclass(frozen=True, slots=True)
class OwningAnswer:
    """What one accelerator costs to own.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    owned : Owned or None
        The terms; None where a figure is missing.
    reason : str
        Which.
    rents : dict of str to PricePerHour
        What renting it costs, by kind, for comparison.
    """

    gpu: Gpu
    owned: Owned | None
    reason: str
    rents: Mapping[str, PricePerHour]

    @property
    def price(self) -> PricePerHour | None:
        """Return what an hour of it costs."""
        return self.owned.price if self.owned else None

    @property
    def sentence(self) -> str:
        """Return the cost in words; utilisation is no part of it."""
        if self.price is None:
            return self.reason
        usd = self.price.usd_per_gpu_hour
        said = f"An owned {self.gpu.name} costs {usd:,.2f} USD an hour: {self.price.provenance}."
        return f"{said} {caveat_sentence(self.price)}".rstrip()

    def flip(self, kind: str) -> float | None:
        """Return the utilisation above which owning is cheaper than this kind of rent, where it counts."""
        if self.price is None or kind not in PAID_WHEN_USED:
            return None
        return flip_utilisation(
            rent_usd_per_gpu_hour=self.rents[kind].usd_per_gpu_hour,
            own_usd_per_gpu_hour=self.price.usd_per_gpu_hour,
        )

    def verdict(self, kind: str) -> str:
        """Return when owning is cheaper than this kind of rent."""
        assert self.price is not None
        dearer = self.price.usd_per_gpu_hour >= self.rents[kind].usd_per_gpu_hour
        if dearer:
            return "renting is cheaper at any utilisation"
        flip = self.flip(kind)
        return "owning is cheaper" if flip is None else f"owning is cheaper above {flip:.0%} utilisation"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a JSON-ready object; the terms are None where a figure is missing."""
        if self.owned is None or self.price is None:
            return {"gpu": self.gpu.id, "usd_per_gpu_hour": None, "reason": self.reason}
        book = book_view(self.owned.terms)
        return {
            "gpu": self.gpu.id,
            "usd_per_gpu_hour": self.price.usd_per_gpu_hour,
            "usd_per_gpu_month": usd_per_month(gpus=1, usd_per_gpu_hour=self.price.usd_per_gpu_hour),
            "parts": parts_record(self.price),
            "caveats": list(self.price.caveats),
            "terms": self.owned.terms.model_dump(),
            "terms_provenance": dict(self.owned.provenance),
            "depreciation_usd_per_gpu_hour": book.depreciation_usd_per_gpu_hour,
            "financing_usd_per_gpu_hour": book.financing_usd_per_gpu_hour,
            "book_value_usd": list(book.book_value_usd),
            "rents": [
                {
                    "kind": kind,
                    "usd_per_gpu_hour": rent.usd_per_gpu_hour,
                    "owning_cheaper_above_utilisation": self.flip(kind),
                    "provenance": rent.provenance,
                }
                for kind, rent in self.rents.items()
            ],
        }

    def parts_table(self, currency: Currency) -> Table:
        """Return the parts of the price in a currency."""
        assert self.price is not None
        total = self.price.usd_per_gpu_hour
        rows = [
            {
                "part": one.name,
                "amount": currency.of_usd(one.usd_per_gpu_hour),
                "share": one.usd_per_gpu_hour / total,
                "provenance": one.provenance,
            }
            for one in self.price.parts
        ]
        rows.append({"part": "all", "amount": currency.of_usd(total), "share": 1.0})
        columns = (
            Column("part", "part"),
            Column("amount", f"{currency.code} per\nGPU-hour", right=True, show=_money),
            Column("share", "share", right=True, show="{:.0%}".format),
            Column("provenance", "from", flexible=True),
        )
        return Table(columns, tuple(rows), f"{self.gpu.name} ({self.gpu.id}): cost of owning")

    def rents_table(self, currency: Currency) -> Table:
        """Return what renting costs beside it, and when owning is cheaper."""
        rows = [
            {
                "kind": kind,
                "amount": currency.of_usd(rent.usd_per_gpu_hour),
                "when": self.verdict(kind),
                "provenance": rent.provenance,
            }
            for kind, rent in self.rents.items()
        ]
        columns = (
            Column("kind", "rent"),
            Column("amount", f"{currency.code} per\nGPU-hour", right=True, show=_money),
            Column("when", "against it", flexible=True),
            Column("provenance", "from", flexible=True),
        )
        return Table(columns, tuple(rows), "Renting it; on demand and spot are paid for used hours alone")

    def facts(self, currency: Currency) -> list[tuple[str, str]]:
        """Return what the accounts show, and the month."""
        assert self.owned is not None
        assert self.price is not None
        book = book_view(self.owned.terms)
        code = currency.code

        def shown(usd: float) -> str:
            return f"{currency.of_usd(usd):,.3f} {code}/h"

        month = currency.of_usd(HOURS_PER_MONTH * self.price.usd_per_gpu_hour)
        values = ", ".join(f"{currency.of_usd(usd):,.0f}" for usd in book.book_value_usd)
        return [
            ("a month", f"{month:,.0f} {code} per GPU ({HOURS_PER_MONTH:g} h)"),
            ("straight line", f"{shown(book.depreciation_usd_per_gpu_hour)} of depreciation"),
            ("financing", f"{shown(book.financing_usd_per_gpu_hour)} beyond it, which the annuity has"),
            ("book value", f"{values} {code} at the end of years 0 to {len(book.book_value_usd) - 1}"),
        ]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwningReport(Report):
    """What accelerators cost to own.

    Parameters
    ----------
    answers : tuple of OwningAnswer
        One for each.
    currency : Currency
        In which tables are shown; JSON and CSV are in USD.
    """

    answers: tuple[OwningAnswer, ...]
    currency: Currency = DOLLAR

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"Owning {', '.join(answer.gpu.name for answer in self.answers)}"

    @property
    def sentence(self) -> str:
        """Return the costs in words."""
        return "\n".join(answer.sentence for answer in self.answers)

    @property
    def priced(self) -> tuple[OwningAnswer, ...]:
        """Return the answers that have a price."""
        return tuple(answer for answer in self.answers if answer.price is not None)

    def tables(self) -> tuple[Table, ...]:
        """Return the parts of each, and what renting costs."""
        shown: list[Table] = []
        for answer in self.priced:
            shown.append(answer.parts_table(self.currency))
            if answer.rents:
                shown.append(answer.rents_table(self.currency))
        return tuple(shown)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what others say of owning one, and what is odd about the price of buying one."""
        found = []
        for answer in self.priced:
            if answer.price is not None:
                found += [f"{answer.gpu.name}: {caveat}" for caveat in answer.price.caveats[1:]]
            capex = answer.owned.figures.get("capex_usd_per_gpu") if answer.owned else None
            if capex is not None and capex.note:
                found.append(f"{answer.gpu.name}: capex: {capex.note}")
        return tuple(found)

    def sources(self) -> Table:
        """Return where the catalogue's figures come from, each source once."""
        told: dict[tuple[str, str, str | None], dict[str, None]] = {}
        for answer in self.priced:
            for field, figure in answer.owned.figures.items() if answer.owned else ():
                source = (figure.source.title, figure.date, figure.source.url)
                told.setdefault(source, {})[TOLD_AS[field]] = None
        return sources_table(
            {"what": ", ".join(names), "source": title, "date": date, "url": url}
            for (title, date, url), names in told.items()
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return the parts of all accelerators, in USD."""
        return [
            {
                "gpu": answer.gpu.id,
                "part": one.name,
                "usd_per_gpu_hour": one.usd_per_gpu_hour,
                "share": one.usd_per_gpu_hour / answer.price.usd_per_gpu_hour,
                "provenance": one.provenance,
            }
            for answer in self.priced
            if answer.price is not None
            for one in answer.price.parts
        ]

    def to_csv(self) -> str:
        """Return the parts of all accelerators as CSV, in USD."""
        return records_to_csv(self.to_records(), RECORD_KEYS)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.owning/1`, in USD."""
        return self.signed(
            {
                "schema": "planner.owning/1",
                "currency": self.currency.model_dump(),
                "gpus": [answer.to_dict() for answer in self.answers],
                "warnings": list(self.warnings),
            }
        )


def rents_of(gpu: Gpu, catalogue: Catalogue) -> dict[str, PricePerHour]:
    """Return what renting an accelerator costs, by kind.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    catalogue : Catalogue
        Where quotes stand.

    Returns
    -------
    dict of str to PricePerHour
        The kinds that are quoted; costs of owning, and assumptions, are no rent.
    """
    quotes = catalogue.prices(gpu.id)
    found: dict[str, PricePerHour] = {}
    for kind in PriceKind:
        if kind.value.startswith("TCO") or kind is PriceKind.ASSUMPTION:
            continue
        try:
            found[kind.value] = catalogue_price(gpu=gpu.id, kind=kind, quotes=quotes)
        except Unsupported:
            continue
    return found
