"""The command line under a name that no other distribution has: it can say that `planner` is not ours.

Other distributions have a package `planner` as well. The one that was installed last lies over the other, and
a command of the package itself could then not even say so.
"""

from __future__ import annotations

import importlib
import sys

NAME = "accelerator-planner"


def main() -> None:
    """Run the command line of planner, or say in one line that another `planner` is imported."""
    try:
        package = importlib.import_module("planner")
    except ImportError as error:
        sys.exit(_refuse(f"cannot be imported ({error})"))
    if getattr(package, "__distribution__", None) != NAME:
        where = getattr(package, "__file__", None) or "a folder without __init__.py"
        sys.exit(_refuse(f"is another distribution's: {where}"))
    from planner.cli import main as command

    command()


def _refuse(what: str) -> int:
    line = f"the package `planner` here {what}; install {NAME} into an environment of its own"
    print(f"{NAME}: {line}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
