"""Ask what a GPU costs to own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planner.api.arguments import open_catalogue
from planner.api.recording import reproducible
from planner.catalogue import Catalogue, Gpu
from planner.errors import Unsupported, unknown_name
from planner.planning.question import gpu_records

if TYPE_CHECKING:
    from planner.report.owning import OwningReport


@reproducible
def own(
    *,
    gpu: str | Gpu | Iterable[str | Gpu],
    capex: float | Mapping[str, float] | None = None,
    kw: float | Mapping[str, float] | None = None,
    currency: str | None = None,
    usd_rate: float | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **terms: Any,
) -> OwningReport:
    """Say what an hour of an owned GPU costs, part by part, and when owning is cheaper than renting.

    Parameters
    ----------
    gpu : str, Gpu, or several
        Ids or aliases (several with commas or as a list), or records.
    capex : float or mapping, optional
        Price of buying one GPU with its share of server and network [USD], for all or by id or alias.
    kw : float or mapping, optional
        All-in power of one GPU [kW], likewise.
    currency : str, optional
        Code of ISO 4217 in which tables are shown.
    usd_rate : float, optional
        Units of it that 1 USD is worth.
    catalogue : Catalogue or path, optional
        An open catalogue, or your own file over the shipped one.
    **terms
        The other `planner.economics.OWNING_ARGUMENTS`: `cost_of_capital` (share a year), `life_years`,
        `colocation` [USD per kW-month], `power_in_colocation`, `electricity` [USD/kWh], `pue`, `resale`
        (share), `network_capex` [USD per GPU], `spares` (share), `staff` [USD per GPU and year].

    Returns
    -------
    OwningReport
        One answer for each accelerator; one whose price or power nobody published says so.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.economics import OWNING_ARGUMENTS, check_named, currency_of, owned_terms, terms_given
    from planner.report.owning import OwningAnswer, OwningReport, rents_of

    opened = open_catalogue(catalogue)
    cards = gpu_records(gpu, opened)
    given = {"capex": capex, "kw": kw, **terms}
    for name in given:
        if name not in OWNING_ARGUMENTS:
            raise unknown_name("argument", name, OWNING_ARGUMENTS)
    fields = terms_given(given)
    check_named(fields, cards, opened)
    shown = currency_of(currency, usd_rate)
    answers = []
    for card in cards:
        try:
            found, reason = owned_terms(card, opened, fields), ""
        except Unsupported as error:
            found, reason = None, str(error)
        answers.append(OwningAnswer(card, found, reason, rents_of(card, opened)))
    if not any(answer.owned for answer in answers):
        raise Unsupported(answers[0].reason)
    return OwningReport(answers=tuple(answers), currency=shown)
