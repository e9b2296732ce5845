"""A launch as a Compose file: the servers of one node."""

from __future__ import annotations

import json
from typing import Any

from planner.errors import Unsupported
from planner.serving.kubernetes import CACHE, FOLDER, HEALTH, HF_KEY, device_of, image_of
from planner.serving.launching import Launch
from planner.serving.words import checked, label_of


def compose(launch: Launch, *, name: str | None = None) -> dict[str, Any]:
    """Return a Compose file that runs a launch on one node.

    Parameters
    ----------
    launch : Launch
        One server on one node.
    name : str, optional
        Of the service; that of the model by default.

    Returns
    -------
    dict

    Raises
    ------
    Unsupported
        For several nodes or servers, which Compose does not place.
    """
    wanted, (server, *others) = launch.wanted, launch.servers
    if wanted.nodes > 1 or others or server.copies > 1:
        raise Unsupported("compose: it has one server on one node; take --format kubernetes or command")
    called = checked("name", name) if name is not None else label_of(wanted.model.id)
    words = launch.contained(server)
    service: dict[str, Any] = {
        "image": image_of(launch),
        "entrypoint": [words[0]],
        "command": [word.replace("$", "$$") for word in words[1:]],
        # A name without a value is taken from the environment that compose runs in.
        "environment": {HF_KEY: None, **launch.environment},
        "ports": [f"{wanted.port}:{wanted.port}"],
        "ipc": "host",
        "volumes": [f"model-cache:{CACHE}"],
        "healthcheck": {
            "test": ["CMD", "curl", "-f", f"http://localhost:{wanted.port}{HEALTH}"],
            "interval": "30s",
            "start_period": "60m",
        },
    }
    paths = device_of(wanted.gpu).paths
    if paths:
        service |= {"devices": list(paths), "group_add": ["video"]}
    else:
        count = {"driver": "nvidia", "count": wanted.deployment.gpus, "capabilities": ["gpu"]}
        service["deploy"] = {"resources": {"reservations": {"devices": [count]}}}
    found: dict[str, Any] = {"services": {called: service}, "volumes": {"model-cache": None}}
    if launch.files:
        service["working_dir"] = FOLDER
        service["configs"] = [{"source": file, "target": f"{FOLDER}/{file}"} for file in launch.files]
        found["configs"] = {file: {"content": json.dumps(data) + "\n"} for file, data in launch.files.items()}
    return found
