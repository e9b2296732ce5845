"""`planner ui`: serve the dashboard, to this machine alone unless told otherwise."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import click

from planner.distribution import installing
from planner.errors import Unsupported

SERVER = "planner.dashboard.serve"
LOCAL = "127.0.0.1"
PORT = 8501
MOST_UPLOADED_MB = 4

SETTINGS = {
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "viewer",
    "server.fileWatcherType": "none",
    "server.maxUploadSize": str(MOST_UPLOADED_MB),
    "server.showEmailPrompt": "false",
}
"""Nothing is reported to anybody, no page shows where its code lies, and uploads are small."""

LOCAL_NAMES = ("localhost", LOCAL)
"""Names by which this machine is called; no other name that a stranger lets lead here is answered."""


@click.command(short_help="Serve the dashboard, to this machine alone unless told otherwise.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=PORT,
    show_default=True,
    metavar="N",
    help="Port that it listens on.",
)
@click.option(
    "--address",
    default=LOCAL,
    show_default=True,
    metavar="HOST",
    help="Address that it listens on; 0.0.0.0 lets others in, who are not asked who they are.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
def command(port: int, address: str, no_browser: bool) -> None:
    """Serve the dashboard until it is interrupted.

    It listens to this machine alone, reports nothing to anybody, and keeps nothing of what is uploaded.
    Everyone who can reach the address can use it: put a proxy that asks for a login in front of it before
    it is served to others.

    \b
    Examples:
      planner ui
      planner ui --port 8600 --no-browser
      planner ui --address 0.0.0.0
    """
    if find_spec("streamlit") is None:
        raise Unsupported(f"the dashboard needs streamlit, which is not installed: {installing('dashboard')}")
    # This process becomes the server, so that whoever stops it stops the server. Without -P, files of the
    # folder that it is started in would stand before Python's own modules.
    words = [sys.executable, "-P", "-m", SERVER, *flags(port, address, not no_browser)]
    os.execv(sys.executable, words)


def flags(port: int, address: str, browser: bool) -> list[str]:
    """Return the options that streamlit is started with.

    Parameters
    ----------
    port : int
        Port that it listens on.
    address : str
        Address that it listens on.
    browser : bool
        Whether it opens one.

    Returns
    -------
    list of str
    """
    local = LOCAL_NAMES if address in LOCAL_NAMES else ()
    settings = [
        *SETTINGS.items(),
        ("server.address", address),
        ("server.port", str(port)),
        ("server.headless", "false" if browser else "true"),
        *(("server.allowedHosts", name) for name in local),
    ]
    return [f"--{name}={value}" for name, value in settings]
