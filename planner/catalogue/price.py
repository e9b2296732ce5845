"""The record of one price, always with its kind and date."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from planner.catalogue.figures import Confidence, Date, Record, Source, read_quantity, resolve_source
from planner.units import Dimension

PLACEHOLDERS = (9.99, 0.01)
"""Values that price lists use for "unknown"."""


class PriceKind(StrEnum):
    """The terms behind a price; prices of different kinds are not comparable."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    RESERVED = "reserved"
    RESERVED_SHORT = "reserved-short"
    RESERVED_1Y = "reserved-1y"
    RENTAL_3Y = "3y-rental"
    TCO_HYPERSCALER = "TCO-hyperscaler"
    TCO_NEOCLOUD = "TCO-neocloud"
    TCO_OWN = "TCO-own"
    ASSUMPTION = "assumption"


def _read_rate(value: Any, info: ValidationInfo) -> Any:
    if info.context is None and isinstance(value, float | int):
        return value  # made in code, where the name of the field is the unit
    return read_quantity(value, Dimension.USD_PER_HOUR)


def _no_placeholder(value: float) -> float:
    if any(abs(value - placeholder) < 1e-9 for placeholder in PLACEHOLDERS):
        raise ValueError(
            f"{value:g} USD/h is a placeholder that price lists use for unknown; leave the row out"
        )
    return value


class Price(Record):
    """What one provider asks for one GPU for one hour, on stated terms, at a stated date."""

    gpu: str
    provider: str
    usd_per_gpu_hour: Annotated[float, BeforeValidator(_read_rate), AfterValidator(_no_placeholder)] = Field(
        gt=0
    )
    kind: PriceKind = Field(strict=False)
    source: Source
    date: Date
    as_of: bool = False
    """True where the source states no date: `date` is then the day on which it was read."""
    confidence: Confidence = "published"
    note: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or isinstance(data.get("source"), Source):
            return data
        resolved = resolve_source(data, info)
        source = resolved["source"]
        if "date" not in data and isinstance(source, Source):
            resolved["as_of"] = source.as_of
        return resolved

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What makes two rows the same: GPU, provider, kind and date."""
        return (self.gpu, self.provider, self.kind.value, self.date)
