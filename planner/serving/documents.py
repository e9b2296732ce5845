"""Plain data as YAML: objects of a manifest one after another, long commands as blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from planner.serving.words import Shell


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a block, and repeats what is used twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write no anchors: not every reader knows them."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style="|" if "\n" in value else None)


for _kind in (str, Shell):
    _Dumper.add_representer(_kind, _text)


def yaml_text(objects: Iterable[Any]) -> str:
    """Return objects as one YAML text, a document each.

    Parameters
    ----------
    objects : iterable
        Plain data.

    Returns
    -------
    str
    """
    return "---\n".join(
        yaml.dump(one, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110) for one in objects
    )
