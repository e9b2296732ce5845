"""Tokens of a step with drafts: what was stated, else what tables of acceptance say."""

from __future__ import annotations

from planner.architecture import Architecture
from planner.catalogue import Catalogue
from planner.errors import unknown_name
from planner.performance.acceptance import ALIASES, Acceptance, tokens_per_step


def acceptance_of(
    *,
    catalogue: Catalogue,
    model: str,
    architecture: Architecture,
    drafted: int,
    draft: str | None = None,
    stated: float | None = None,
) -> Acceptance:
    """Return how many tokens a step of speculation yields.

    Parameters
    ----------
    catalogue : Catalogue
        With the tables.
    model : str
        Id of the model.
    architecture : Architecture
        Whose own draft layers serve where no kind of draft is named.
    drafted : int
        Tokens drafted for each step.
    draft : str, optional
        Kind of draft (``mtp``, ``eagle3``, ``dspark``).
    stated : float, optional
        Tokens of a step as measured by the user.

    Returns
    -------
    Acceptance
    """
    if stated is not None:
        tokens = min(max(stated, 1.0), drafted + 1.0)
        return Acceptance(tokens, tokens, tokens, pooled=False, tables=(), source="stated")
    kind = draft or ("mtp" if architecture.draft else "eagle3")
    return tokens_per_step(catalogue=catalogue, draft=kind, drafted=drafted, model=model)


def check_draft(catalogue: Catalogue, draft: str) -> None:
    """Refuse a kind of draft that no table of acceptance is of.

    Parameters
    ----------
    catalogue : Catalogue
        With the tables.
    draft : str
        Kind of draft, or one of its other names.

    Raises
    ------
    UnknownName
        With the nearest kinds.
    """
    kinds = {table.draft for table in catalogue.acceptance_tables()}
    if ALIASES.get(draft.lower(), draft.lower()) not in kinds:
        raise unknown_name("kind of draft", draft, [*kinds, *ALIASES])
