"""Ask how wrong predictions are against a file of measurements."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planner.api.arguments import open_catalogue, path_text
from planner.catalogue import Catalogue

if TYPE_CHECKING:
    from planner.measurement.validate_file import AnyValidation


def validate(
    path: str | os.PathLike[str], catalogue: Catalogue | str | os.PathLike[str] | None = None
) -> AnyValidation:
    """Predict every row of a file of measurements and say how wrong the predictions are.

    Parameters
    ----------
    path : path
        A CSV of start-up logs or of serving points.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one.

    Returns
    -------
    ValidationResult or ServingValidation

    Raises
    ------
    PlannerError
        With file and line, when the file is not such a table.
    """
    from planner.measurement.validate_file import validate_file

    return validate_file(path_text("path", path), open_catalogue(catalogue))
