"""The terms of owning a GPU of the catalogue: the user's figures first, the catalogue's for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.catalogue import Catalogue, Figure, Gpu, Price, PriceKind
from planner.economics.listed import AS_LISTED, OF_MACHINE, list_price, power_with_machine
from planner.economics.owning import OwningTerms, owning_price
from planner.economics.prices import OWNING_ARGUMENTS, PricePerHour
from planner.economics.use import GIVEN_BY_YOU, Use
from planner.errors import InvalidInput, Unsupported, unknown_name
from planner.units import format_significant

USUAL_TERMS = "inferencex"
"""Terms of the catalogue that count where a user gives none."""

INFERRED = "inferred"
"""Confidence of a capex that is worked out from what owning costs at hyperscaler volume: nobody quoted it."""

STAND_INS = {
    "capex_usd_per_gpu": ("the capex is the list price of the card without the machine around it", "--capex"),
    "kw_per_gpu": ("the power its TDP and an assumed one of that machine", "--kw"),
}
"""By field, what stands in for it of a card that is sold to anybody, and the option for a better figure."""

BY_GPU = ("capex_usd_per_gpu", "kw_per_gpu", "price_usd")
"""Fields that differ from one accelerator to the next, and so may be given by its name."""


@dataclass(frozen=True, slots=True)
class Owned:
    """Terms of owning one accelerator, and where each of them comes from.

    Parameters
    ----------
    terms : OwningTerms
        All fields.
    provenance : dict of str to str
        By field, in a few words; "given by you", or confidence and date.
    figures : dict of str to Figure
        By field, what was taken from the catalogue.
    quotes : tuple of Price
        What others publish as the cost of owning a server of it, for comparison.
    stood_in : tuple of str
        Fields of `STAND_INS` that nobody published.
    """

    terms: OwningTerms
    provenance: dict[str, str]
    figures: dict[str, Figure]
    quotes: tuple[Price, ...] = ()
    stood_in: tuple[str, ...] = ()

    @property
    def price(self) -> PricePerHour:
        """Return what an hour of it costs."""
        return replace(owning_price(self.terms, self.provenance), caveats=self.caveats)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Return what nobody quoted or counted, how to give it, and what others say of it."""
        capex = self.figures.get("capex_usd_per_gpu")
        said = [STAND_INS[name][0] for name in self.stood_in]
        options = [STAND_INS[name][1] for name in self.stood_in]
        if capex is not None and capex.confidence == INFERRED:
            said.append("the capex is implied at hyperscaler volume (inferred)")
            options.append("--capex")
        if "staff_usd_per_gpu_year" not in self.provenance:
            said.append("no staff is counted")
            options.append("--staff")
        if not said:
            return ()
        found = [f"{_all_of(said)}; give your own with {_all_of(options)}"]
        others = [_alternative(one) for one in capex.alternatives] if capex is not None else []
        others += [_server(one) for one in self.quotes]
        if others:
            found.append(f"others say of owning one: {'; '.join(others)}")
        return tuple(found)


def owned_terms(gpu: Gpu, catalogue: Catalogue, given: Mapping[str, Any] | None = None) -> Owned:
    """Return the terms of owning an accelerator.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    catalogue : Catalogue
        Where figures stand that are not given.
    given : mapping, optional
        Fields of `OwningTerms`; None is what was not given. `capex_usd_per_gpu` and `kw_per_gpu` are numbers,
        or mappings by id or alias.

    Returns
    -------
    Owned

    Raises
    ------
    InvalidInput
        For an impossible value, or where a colocation price with power would be added to electricity.
    Unsupported
        Where nobody published, or gave, what the accelerator costs or the power it needs.
    """
    asked = {name: value for name, value in (given or {}).items() if value is not None}
    for name in asked:
        if name not in OwningTerms.model_fields:
            raise unknown_name("term of owning", name, OwningTerms.model_fields)
    for name in BY_GPU:
        if isinstance(asked.get(name), Mapping):
            asked[name] = _of_gpu(asked[name], gpu, catalogue)
            if asked[name] is None:
                del asked[name]
    power_in = _power_in_colocation(catalogue, asked)
    unbilled = ("electricity_usd_per_kwh", "pue") if power_in else ()
    usual, stood_in = _usual(gpu, catalogue, asked)
    figures = {name: figure for name, figure in usual.items() if name not in unbilled}
    values = {name: figure.value for name, figure in figures.items()}
    terms = OwningTerms(**{**values, "power_in_colocation": power_in, **asked})
    said = {name: f"{figure.confidence}, {figure.date}" for name, figure in figures.items()}
    if "capex_usd_per_gpu" in stood_in:
        said["capex_usd_per_gpu"] = f"{AS_LISTED}, {said['capex_usd_per_gpu']}"
    if "kw_per_gpu" in stood_in:
        said["kw_per_gpu"] = OF_MACHINE
    quotes = tuple(quote for quote in catalogue.prices(gpu.id) if quote.kind == PriceKind.TCO_OWN)
    return Owned(terms, {**said, **dict.fromkeys(asked, GIVEN_BY_YOU)}, figures, quotes, stood_in)


def _all_of(said: list[str]) -> str:
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _alternative(figure: Figure) -> str:
    note = f"{figure.note}; " if figure.note else ""
    return f"{figure.value:,.0f} USD ({note}{figure.confidence}, {figure.date})"


def _server(quote: Price) -> str:
    note = f"{quote.note}; " if quote.note else ""
    return f"{quote.usd_per_gpu_hour:,.2f} USD/h, {quote.provider} ({note}{quote.confidence}, {quote.date})"


def own_price(gpu: Gpu, catalogue: Catalogue, given: Mapping[str, Any] | None = None) -> PricePerHour:
    """Return what an owned GPU costs an hour; as `owned_terms` otherwise."""
    return owned_terms(gpu, catalogue, given).price


def check_named(given: Mapping[str, Any] | None, gpus: Iterable[Gpu], catalogue: Catalogue) -> None:
    """Refuse a capex or a power of an accelerator that is not asked about."""
    known = {gpu.id for gpu in gpus}
    for field in BY_GPU:
        value = (given or {}).get(field)
        names = value if isinstance(value, Mapping) else ()
        others = [name for name in names if catalogue.gpu(name).id not in known]
        if others:
            named = next(name for name, stands_for in OWNING_ARGUMENTS.items() if stands_for == field)
            raise InvalidInput(f"{named}: {others[0]} is given, but not among the GPUs asked about")


def entry(catalogue: Catalogue, root: str, key: str) -> Any:
    """Return an entry of economics.yaml, which a catalogue of the user's own may do without."""
    if key not in catalogue.ids(root):
        raise Unsupported(f"the catalogue has no {root}: {key}, which money is worked out from; add it")
    return catalogue.load_entry(root, key)


def _of_gpu(values: Mapping[str, float], gpu: Gpu, catalogue: Catalogue) -> float | None:
    """Return what is given for this accelerator; two names of it may not both have one."""
    names = [name for name in values if catalogue.gpu(name).id == gpu.id]
    if len(names) > 1:
        raise InvalidInput(f"{' and '.join(names)} are both {gpu.id}, which has one figure")
    return values[names[0]] if names else None


def _usual(
    gpu: Gpu, catalogue: Catalogue, asked: Mapping[str, Any]
) -> tuple[dict[str, Figure], tuple[str, ...]]:
    """Return the catalogue's figures for what is not given, and the fields in which another one stands in."""
    terms = entry(catalogue, "owning_terms", USUAL_TERMS)
    found: dict[str, Figure | None] = {
        "cost_of_capital": terms.cost_of_capital,
        "life_years": terms.life_years,
        "colocation_usd_per_kw_month": terms.colocation,
        "electricity_usd_per_kwh": terms.electricity,
        "pue": terms.pue,
    }
    bought = entry(catalogue, "owning", gpu.id) if gpu.id in catalogue.ids("owning") else None
    found["capex_usd_per_gpu"] = bought.capex if bought else None
    found["kw_per_gpu"] = all_in_power(gpu, catalogue)
    stood_in: tuple[str, ...] = ()
    price = list_price(gpu, catalogue)
    if price is not None:  # a card, of which one machine holds one or a few
        others = {"capex_usd_per_gpu": price, "kw_per_gpu": power_with_machine(gpu)}
        stood_in = tuple(
            name for name, other in others.items() if found[name] is None and other and name not in asked
        )
        found |= {name: others[name] for name in stood_in}
    figures = {name: figure for name, figure in found.items() if name not in asked and figure is not None}
    for name, figure in figures.items():
        if name == "kw_per_gpu":
            figures[name] = figure.model_copy(update={"value": figure.value / 1e3, "unit": None})
    for name, option, what in (
        ("capex_usd_per_gpu", f"--capex {gpu.id}=USD", "price of buying one"),
        ("kw_per_gpu", f"--kw {gpu.id}=KW", "all-in power"),
    ):
        if name not in figures and name not in asked:
            raise Unsupported(f"{gpu.id}: no {what} is known, so no cost of owning; give it: {option}")
    return figures, stood_in


def all_in_power(gpu: Gpu, catalogue: Catalogue) -> Figure | None:
    """Return the all-in power of one GPU, its share of server and network included.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    catalogue : Catalogue
        Whose `owning:` entry goes before the accelerator's own.

    Returns
    -------
    Figure or None
        [W]; None where nobody published it. The TDP of the chip alone is never taken for it.
    """
    if gpu.id in catalogue.ids("owning"):
        stated: Figure | None = entry(catalogue, "owning", gpu.id).all_in_power
        if stated is not None:
            return stated
    return gpu.inferencex.all_in_power if gpu.inferencex else None


def _power_in_colocation(catalogue: Catalogue, asked: Mapping[str, Any]) -> bool:
    """Return whether colocation includes power, refusing terms that would pay for it twice or not at all."""
    terms = entry(catalogue, "owning_terms", USUAL_TERMS)
    on_top = [name for name in ("electricity_usd_per_kwh", "pue") if name in asked]
    inside = asked.get("power_in_colocation")
    if inside and on_top:
        raise InvalidInput(f"{on_top[0]}: power is in the colocation price, so nothing is billed on top")
    if inside is None:
        inside = bool(terms.power_in_colocation) and not on_top
    if not inside and terms.power_in_colocation and "colocation_usd_per_kw_month" not in asked:
        usual = format_significant(terms.colocation.value)
        raise InvalidInput(
            f"colocation: {usual} USD per kW-month of the catalogue includes power; with electricity on top "
            "give the price without it: --colocation USD"
        )
    return bool(inside)


def planned_use(
    catalogue: Catalogue, utilisation: float | None = None, availability: float | None = None
) -> Use:
    """Return the use to plan with: what is given, and the catalogue's assumption for the rest.

    Parameters
    ----------
    catalogue : Catalogue
        Where the assumptions stand (`planned_use:`).
    utilisation, availability : float, optional
        Shares above 0 and at most 1.

    Returns
    -------
    Use
        Its provenance says what is given and what is assumed.

    Raises
    ------
    InvalidInput
        When a share lies outside.
    """
    usual = entry(catalogue, "planned_use", "default")
    given = {"utilisation": utilisation, "availability": availability}
    values = {
        # 70 % of a file is 0.7, and not 70 x 0.01.
        name: round(getattr(usual, name).value, 12) if value is None else value
        for name, value in given.items()
    }
    assumed = [name for name, value in given.items() if value is None]
    said = f"{' and '.join(assumed)} assumed" if assumed else GIVEN_BY_YOU
    return Use(**values, provenance=said)
