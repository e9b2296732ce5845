"""Currencies besides USD, in which all is worked out: a code of ISO 4217 and a rate that the user states."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from planner.errors import InvalidInput, nearest_names, shorten
from planner.scenario.records import Name, Plain, Scenario

_LIST = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT
LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR
NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN
SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF
XCD XCG XOF XPF YER ZAR ZMW ZWG
"""

CODES = frozenset(_LIST.split())
"""Codes in use by ISO 4217 (list one of 2025), without metals and test codes."""

USD = "USD"


def _code(value: object) -> str:
    code = value.strip().upper() if isinstance(value, str) else ""
    if code not in CODES:
        near = nearest_names(code, CODES)
        hint = f"nearest: {', '.join(near)}" if near else "write it like eur, gbp or jpy"
        raise ValueError(f"no currency of ISO 4217; {hint}")
    return code


class Currency(Scenario):
    """A currency and how much of it one US dollar is."""

    code: Annotated[str, BeforeValidator(_code)]
    """Three letters of ISO 4217, in any case."""
    per_usd: Annotated[float, Plain, Field(gt=0, le=1e9)]
    """Units of the currency that 1 USD is worth."""
    provenance: Name = "given by you"
    """Who states the rate, and of which day."""

    @property
    def sentence(self) -> str:
        """Return the rate as an answer states it, such as "1 USD = 0.92 EUR (given by you)"."""
        return f"1 USD = {self.per_usd:g} {self.code} ({self.provenance})"

    @property
    def unit(self) -> str:
        """Return one unit of it in words: "dollar", or the code of another currency."""
        return "dollar" if self.code == USD else self.code

    def of_usd(self, usd: float) -> float:
        """Return an amount of USD in this currency."""
        return usd * self.per_usd


DOLLAR = Currency(code=USD, per_usd=1.0, provenance="all is worked out in USD")


def currency_of(code: str | None = None, usd_rate: float | None = None, date: str | None = None) -> Currency:
    """Return the currency of an answer.

    Parameters
    ----------
    code : str, optional
        Code of ISO 4217; USD by default.
    usd_rate : float, optional
        Units of it that 1 USD is worth: 0.92 says that 1 USD = 0.92 EUR. No rate is known but USD's own.
    date : str, optional
        Day of the rate.

    Returns
    -------
    Currency

    Raises
    ------
    InvalidInput
        For an unknown code, and a rate that is missing, impossible or of no currency.
    """
    if code is None:
        if usd_rate is not None:
            raise InvalidInput(f"usd_rate: {shorten(usd_rate)} is a rate of no currency; name one: eur")
        return DOLLAR
    found = Currency(code=code, per_usd=1.0 if usd_rate is None else usd_rate)
    if found.code == USD:
        if usd_rate not in (None, 1.0):
            raise InvalidInput(f"usd_rate: 1 USD is 1 USD, and not {shorten(usd_rate)}")
        return DOLLAR
    if usd_rate is None:
        raise InvalidInput(f"currency: no rate of {found.code}; state one: 1 USD = so many {found.code}")
    said = f"given by you, {date}" if date else "given by you"
    return Currency(code=found.code, per_usd=usd_rate, provenance=said)
