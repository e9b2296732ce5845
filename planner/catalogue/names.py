"""What the entries of a catalogue are called: ids, aliases, and names that stand for several or for none."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.catalogue.documents import Document


def loosen(name: str) -> str:
    """Return a name in lower case with blanks, `_` and `-` as one `-`."""
    return re.sub(r"[\s_-]+", "-", name.strip().casefold())


class Names:
    """Every name of the entries under one root key.

    Parameters
    ----------
    root : str
        The root key, such as "gpus".
    ids : iterable of str
        The ids there are; an id is never an alias of something else.
    documents : iterable of Document
        Where the aliases stand.
    """

    def __init__(self, root: str, ids: Iterable[str], documents: Iterable[Document]) -> None:
        self._exact = {key.casefold(): [key] for key in ids}
        self._loose = {loosen(key): [key] for key in ids}
        taken = set(self._exact)
        for document in documents:
            for alias, key in document.aliases(root):
                for index, form in ((self._exact, alias.strip().casefold()), (self._loose, loosen(alias))):
                    if form not in taken and key not in index.setdefault(form, []):
                        index[form].append(key)

    def candidates(self, name: str) -> list[str]:
        """Return the ids that a name may stand for: case does not count, and separators only if they must."""
        return self._exact.get(name.strip().casefold()) or self._loose.get(loosen(name), [])

    def known(self) -> list[str]:
        """Return every name, in lower case."""
        return [name for name in self._exact if name]
