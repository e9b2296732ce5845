"""The distribution that these files belong to: its name, its extras, and whether another one covers it.

The package is imported as `planner`, and so are those of other distributions. Where two of them are in one
environment, the files of the one that came last lie over those of the other.
"""

from __future__ import annotations

from pathlib import Path

import planner

NAME = planner.__distribution__


def installing(extra: str) -> str:
    """Return the command that installs what an optional part needs, such as "report"."""
    return f"pip install '{NAME}[{extra}]'"


def covered_by() -> str:
    """Say which files of this distribution are no longer its own, in one line; empty where all are.

    Returns
    -------
    str
        Read from the list of files that the installer kept, and so always empty in a checkout.
    """
    import csv
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        own = distribution(NAME)
    except PackageNotFoundError:
        return ""
    # The list itself, since newer Pythons leave files that are gone out of `files`.
    rows = csv.reader((own.read_text("RECORD") or "").splitlines())
    foreign = [
        file
        for file, digest, *_ in (row for row in rows if len(row) > 1)
        if file.endswith(".py") and digest and _digest(Path(str(own.locate_file(file)))) != digest
    ]
    if not foreign:
        return ""
    others = _owners(foreign)
    by = f"of {', '.join(others)}" if others else "not the installed ones"
    more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
    return (
        f"{foreign[0]}{more} here {'are' if more else 'is'} {by}, which has the package name `planner` too; "
        f"install {NAME} into an environment of its own"
    )


def _digest(file: Path) -> str:
    """Return the digest of an installed file as its list has it; empty where it is gone."""
    import base64
    import hashlib

    try:
        content = file.read_bytes()
    except OSError:
        return ""
    made = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={made}"


def _owners(files: list[str]) -> list[str]:
    """Return the names of other distributions that list one of some files."""
    from importlib.metadata import distributions

    wanted = set(files)
    found = {
        one.metadata["Name"]
        for one in distributions()
        if one.metadata["Name"] != NAME and any(str(file) in wanted for file in one.files or ())
    }
    return sorted(found)
