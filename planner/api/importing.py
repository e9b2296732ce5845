"""Read what benchmark tools and engines wrote, and keep it as measurements."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.api.arguments import open_catalogue, path_text
from planner.catalogue import Catalogue
from planner.errors import InvalidInput, nearest_names, shorten

if TYPE_CHECKING:
    from planner.report.imported import ImportReport


def import_results(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    into: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **stated: object,
) -> ImportReport:
    """Read result files of benchmark tools and start-up logs, and add their rows to a folder of measurements.

    Parameters
    ----------
    files : path or sequence of path
        The files; each is recognised by what stands in it.
    into : path, optional
        The folder of measurements; the user's own by default.
    dry_run : bool
        Read and check, but write nothing.
    catalogue : Catalogue or path, optional
        An open catalogue, or the user's own file over the shipped one; names are looked up in it.
    **stated
        What the files do not say: `model`, `gpu`, `gpus`, `nodes`, `tp`, `pp`, `ep`, `dp`, `weight_dtype`,
        `kv_dtype`, `engine`, `engine_version`, `isl`, `osl` [tokens], `concurrency`, `rate` [1/s],
        `spec_decode`, `prefix_hit`, `memory_fraction`, `date`, `source`, `source_url`, `notes`.

    Returns
    -------
    ImportReport
        A file that cannot be read has one line in `problems`; the others are imported all the same.

    Raises
    ------
    InvalidInput
        When something is stated that is no such name, or the folder cannot be read or written.
    """
    from planner.measurement.importers.importing import import_results as imported_of
    from planner.measurement.importers.settings import COLUMNS
    from planner.measurement.importers.settings import stated as cells_of
    from planner.measurement.user_folder import user_folder
    from planner.report.imported import ImportReport

    for name in stated:
        if name not in COLUMNS:
            near = nearest_names(name, COLUMNS, limit=1)
            hint = f"is {near[0]!r} meant?" if near else f"there are {', '.join(COLUMNS)}"
            raise InvalidInput(f"{shorten(name)} is nothing that can be stated of a run; {hint}")
    given = [files] if isinstance(files, str | os.PathLike) else list(files)
    return ImportReport(
        imported_of(
            [path_text("files", file) for file in given],
            cells_of(stated),
            catalogue=open_catalogue(catalogue),
            folder=user_folder(None if into is None else path_text("into", into)),
            dry_run=dry_run,
        )
    )
