"""Ask how wrong predictions are against a file of measurements."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.api.arguments import open_catalogue, path_text
from planner.api.recording import reproducible
from planner.catalogue import Catalogue

if TYPE_CHECKING:
    from planner.report.validated import ValidateReport


@reproducible
def validate(
    path: str | os.PathLike[str], catalogue: Catalogue | str | os.PathLike[str] | None = None
) -> ValidateReport:
    """Predict every row of a file of measurements and say how wrong the predictions are.

    Parameters
    ----------
    path : path
        A CSV of start-up logs or of serving points.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.

    Returns
    -------
    ValidateReport
        Errors by quantity and group; rows that could not be predicted are named and counted by reason.

    Raises
    ------
    PlannerError
        With file and line, when the file is not such a table.
    """
    from planner.measurement.validate_file import validate_file
    from planner.report.validated import ValidateReport

    return ValidateReport(validate_file(path_text("path", path), open_catalogue(catalogue)))
