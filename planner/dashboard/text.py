"""Text of reports and users on a page: as it was written, whatever Markdown would make of it."""

from __future__ import annotations

import re

SIGNS = re.compile(r"([\\`*_{}\[\]()<>#+!|~$:&-])")


def plain(text: str) -> str:
    """Return a text that Streamlit's Markdown shows as it is.

    Parameters
    ----------
    text : str
        Such as a sentence of a report, with names that a user gave.

    Returns
    -------
    str
        Every sign that could start a tag, link, picture, formula or colour stands behind a backslash.
    """
    return SIGNS.sub(r"\\\1", text)
