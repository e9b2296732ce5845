"""The server that `planner ui` becomes: streamlit, with the first screen worked out while it starts.

python -m planner.dashboard.serve [OPTIONS OF streamlit run]
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread

from streamlit.web import cli

SCRIPT = Path(__file__).with_name("script.py")


def main(options: list[str]) -> None:
    """Serve the dashboard until it is interrupted."""
    Thread(target=warm, daemon=True).start()
    cli.main(["run", str(SCRIPT), *options], prog_name="streamlit")


def warm() -> None:
    """Import what pages draw with, and put the reports of the first screen into the cache of all sessions."""
    import logging

    import pandas  # noqa: F401
    import plotly.graph_objects  # noqa: F401

    # Streamlit warns that a cache is filled outside of a session, which is what this does.
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").setLevel(logging.ERROR)
    from planner.dashboard.asking import ask
    from planner.dashboard.scenario import WORKED_EXAMPLE
    from planner.dashboard.views.overview import questions

    for function, asked in questions(dict(WORKED_EXAMPLE)).items():
        ask(function, asked)


if __name__ == "__main__":
    main(sys.argv[1:])
