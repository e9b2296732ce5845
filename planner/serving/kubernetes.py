"""A launch as Kubernetes objects: a Deployment and a Service for one node, a LeaderWorkerSet for several."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from planner.catalogue import Gpu
from planner.errors import Unsupported
from planner.serving.book import Device, launch_book
from planner.serving.engines.base import Line
from planner.serving.launching import OWN_ADDRESS, Launch, Server
from planner.serving.words import Shell, checked, label_of, shell_text

LEADER = Shell("$LWS_LEADER_ADDRESS")
WORKER_INDEX = Shell("$LWS_WORKER_INDEX")
"""Variables that the controller of LeaderWorkerSets gives to every pod."""

HF_SECRET, HF_KEY = "hf-token", "HF_TOKEN"
FOLDER = "/launch"
"""Where files that a command reads are mounted; commands start there."""

CACHE = "/root/.cache/huggingface"
"""Where the engines' images, which run as root, keep checkpoints."""
HEALTH = "/health"
START_SECONDS, START_TRIES = 10, 360
"""A server is given an hour to fetch and load its weights."""

Object = dict[str, Any]


def device_of(gpu: Gpu) -> Device:
    """Return how containers get this accelerator, or refuse one of which that is not known."""
    devices = launch_book().devices
    vendor = gpu.vendor.lower()
    if vendor not in devices:
        raise Unsupported(
            f"no container resource is known for {gpu.id} ({vendor}); there are {', '.join(devices)}"
        )
    return devices[vendor]


def image_of(launch: Launch) -> str:
    """Return the image of a launch, or ask for one."""
    if launch.image is None:
        wanted = launch.wanted
        raise Unsupported(
            f"no image of {wanted.stack.name} {wanted.version_text} for {wanted.gpu.id} is known; "
            "name one with --image"
        )
    return launch.image


def manifest(launch: Launch, *, name: str | None = None, secret: str | None = None) -> list[Object]:
    """Return the objects that run a launch.

    Parameters
    ----------
    launch : Launch
        The servers.
    name : str, optional
        Of the objects; that of the model by default.
    secret : str, optional
        Secret with the key ``HF_TOKEN``; no token is ever written.

    Returns
    -------
    list of dict
        In the order in which they are applied.

    Raises
    ------
    Unsupported
        Where no image or no resource is known.
    """
    base = base_name(launch, name)
    held = checked("hf_secret", secret) if secret is not None else HF_SECRET
    objects: list[Object] = [_config(base, launch)] if launch.files else []
    several = launch.wanted.nodes > 1
    for server in launch.servers:
        for called, copies in _names(base, server):
            make = _leader_worker_set if several else _deployment
            objects.append(make(called, base, replace(server, copies=copies), launch, held))
            objects.append(_service(called, launch, several=several))
    return objects


def base_name(launch: Launch, name: str | None) -> str:
    """Return what the names of the objects begin with: the user's name, else that of the model."""
    return checked("name", name) if name is not None else label_of(launch.wanted.model.id)


def services(launch: Launch, name: str | None) -> list[str]:
    """Return the names of the services of a manifest."""
    base = base_name(launch, name)
    return [called for server in launch.servers for called, _ in _names(base, server)]


def _names(base: str, server: Server) -> list[tuple[str, int]]:
    """Return names and copies of a server's objects: a router must reach each server of a pool by itself."""
    if not server.role:
        return [(base, server.copies)]
    return [(f"{base}-{server.role}-{number}", 1) for number in range(1, server.copies + 1)]


def _meta(name: str) -> Object:
    return {
        "name": name,
        "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "planner"},
    }


def _config(base: str, launch: Launch) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _meta(f"{base}-files"),
        # JSON is YAML, so the engine reads it whatever the file is called.
        "data": {file: json.dumps(data, indent=1) + "\n" for file, data in launch.files.items()},
    }


def _deployment(name: str, base: str, server: Server, launch: Launch, secret: str) -> Object:
    words = launch.contained(server)
    container = _container(launch, secret, serves=True)
    container |= {"command": [words[0]], "args": list(words[1:])}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(name),
        "spec": {
            "replicas": server.copies,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            # A new server needs the GPUs of the old one.
            "strategy": {"type": "Recreate"},
            "template": {"metadata": _meta(name), "spec": _pod(base, launch, container)},
        },
    }


def _leader_worker_set(name: str, base: str, server: Server, launch: Launch, secret: str) -> Object:
    first, other = launch.lines_at(server.role, LEADER, WORKER_INDEX)
    assert other is not None
    leader = _container(launch, secret, serves=True) | _by_shell(first)
    worker = _container(launch, secret, serves=False) | _by_shell(other)
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": _meta(name),
        "spec": {
            "replicas": server.copies,
            "leaderWorkerTemplate": {
                "size": launch.wanted.nodes,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": {
                    "metadata": {"labels": {**_meta(name)["labels"], "role": "leader"}},
                    "spec": _pod(base, launch, leader),
                },
                "workerTemplate": {"metadata": _meta(name), "spec": _pod(base, launch, worker)},
            },
        },
    }


def _by_shell(line: Line) -> Object:
    """Return how a container runs a line whose words a shell expands."""
    steps = [shell_text(words) for words in line.before]
    return {"command": ["/bin/sh", "-c"], "args": [" && ".join([*steps, f"exec {shell_text(line.words)}"])]}


def _container(launch: Launch, secret: str, *, serves: bool) -> Object:
    wanted = launch.wanted
    gpus = str(wanted.gpus_per_node)
    resource = device_of(wanted.gpu).resource
    token = {"name": HF_KEY, "valueFrom": {"secretKeyRef": {"name": secret, "key": HF_KEY, "optional": True}}}
    found: Object = {
        "name": "server",
        "image": image_of(launch),
        "env": [token, *(_variable(name, value) for name, value in launch.environment.items())],
        "resources": {"limits": {resource: gpus}, "requests": {resource: gpus}},
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "model-cache", "mountPath": CACHE},
        ],
    }
    if launch.files:
        found["workingDir"] = FOLDER
        found["volumeMounts"].append({"name": "files", "mountPath": FOLDER})
    if serves:
        probe = {"httpGet": {"path": HEALTH, "port": "http"}}
        found |= {
            "ports": [{"name": "http", "containerPort": wanted.port}],
            "startupProbe": {**probe, "periodSeconds": START_SECONDS, "failureThreshold": START_TRIES},
            "readinessProbe": {**probe, "periodSeconds": 10, "failureThreshold": 3},
            "livenessProbe": {**probe, "periodSeconds": 30, "timeoutSeconds": 10, "failureThreshold": 6},
        }
    return found


def _variable(name: str, value: str) -> Object:
    if value == OWN_ADDRESS:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return {"name": name, "value": value}


def _pod(base: str, launch: Launch, container: Object) -> Object:
    volumes: list[Object] = [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "model-cache", "emptyDir": {}},
    ]
    if launch.files:
        volumes.append({"name": "files", "configMap": {"name": f"{base}-files"}})
    return {"containers": [container], "volumes": volumes}


def _service(name: str, launch: Launch, *, several: bool) -> Object:
    leader = {"leaderworkerset.sigs.k8s.io/name": name, "role": "leader"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(name),
        "spec": {
            "selector": leader if several else {"app.kubernetes.io/name": name},
            "ports": [{"name": "http", "port": launch.wanted.port, "targetPort": "http"}],
        },
    }
