"""Validation of any file of measurements: start-up logs or serving points, whichever it holds."""

from __future__ import annotations

import csv
import io
import os
from typing import TypeAlias

from planner.catalogue import Catalogue
from planner.measurement.csvtable import read_csv, recognise
from planner.measurement.validate import (
    ValidationResult,
    validate_startup_logs,
    write_rows,
)
from planner.measurement.validate_serving import ServingValidation, validate_serving

AnyValidation: TypeAlias = ValidationResult | ServingValidation


def validate_file(path: str | os.PathLike[str], catalogue: Catalogue) -> AnyValidation:
    """Predict every row of a file of measurements and compare.

    Parameters
    ----------
    path : path
        A CSV of start-up logs or of serving points.
    catalogue : Catalogue
        Models, accelerators, stacks and the calibration.

    Returns
    -------
    ValidationResult or ServingValidation

    Raises
    ------
    InvalidInput
        With file and line, when the file is neither.
    """
    if recognise(read_csv(path)) == "serving points":
        return validate_serving(path, catalogue)
    return validate_startup_logs(path, catalogue)


def write_validation(result: AnyValidation, path: str | os.PathLike[str]) -> None:
    """Write the rows of a validated file with what was predicted, as CSV.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What `validate_file` returned.
    path : path
        The file to write.

    Raises
    ------
    InvalidInput
        When the file cannot be written.
    """
    write_rows(result.csv_rows(), path)


def validation_csv(result: AnyValidation) -> str:
    """Return the rows of a validated file with what was predicted, as CSV.

    Parameters
    ----------
    result : ValidationResult or ServingValidation
        What `validate_file` returned.

    Returns
    -------
    str
        Lines that end in a newline, the header first.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(result.csv_rows())
    return text.getvalue()
