"""Kubernetes objects and Compose files: they parse, they are what Kubernetes takes, and hold no secret."""

from __future__ import annotations

import json
import shlex
import subprocess

import kubernetes_validate
import pytest
import yaml

from planner.errors import Unsupported
from planner.report.launch import LaunchReport
from planner.serving.documents import yaml_text
from tests.serving.making import launched

KUBERNETES = "1.34"
ONE = {"model": "llama-3.1-8b", "gpu": "h100"}
SEVERAL = {"model": "kimi-k3", "gpu": "b200", "context": 131072, "engine": "vllm==0.20.2"}
R1 = {"model": "deepseek-r1", "gpu": "h200", "context": 32768}
QUESTIONS = {
    "one node": ONE,
    "replicas": {**ONE, "replicas": 3, "name": "chat", "hf_secret": "ours"},
    "amd": {"model": "kimi-k3", "gpu": "mi355x", "context": 65536},
    "several nodes": SEVERAL,
    "ranks over nodes": {**R1, "dp": 16, "ep": 16},
    "ray": {**SEVERAL, "engine": "vllm==0.10.2"},
    "sglang over nodes": {**SEVERAL, "engine": "sglang"},
    "a file": {**R1, "dp": 8, "ep": 8, "engine": "trtllm", "kv_dtype": "fp8"},
    "pools": {**R1, "tp": 8, "disaggregated": (8, 16)},
    "llama.cpp": {
        **ONE,
        "engine": "llama.cpp",
        "checkpoint": "x/y-GGUF:Q8_0",
        "weight_dtype": "q8_0",
        "context": 8192,
    },
}


@pytest.fixture(scope="module", params=QUESTIONS)
def report(request, catalogue) -> LaunchReport:
    return launched(**QUESTIONS[request.param], format="kubernetes", catalogue=catalogue)


def pods_of(thing: dict) -> list[dict]:
    """Return the pod templates of an object."""
    if thing["kind"] == "Deployment":
        return [thing["spec"]["template"]]
    if thing["kind"] == "LeaderWorkerSet":
        return [thing["spec"]["leaderWorkerTemplate"][name] for name in ("leaderTemplate", "workerTemplate")]
    return []


def test_yaml_reads_back_as_the_objects(report):
    assert list(yaml.safe_load_all(report.to_text())) == report.objects
    assert json.loads(json.dumps(report.to_dict()))["kubernetes"] == report.objects


def test_kubernetes_takes_every_object(report):
    for thing in report.objects:
        if thing["kind"] == "LeaderWorkerSet":
            continue
        kubernetes_validate.validate(thing, KUBERNETES, strict=True)


def test_a_leader_worker_set_has_the_fields_of_its_definition(report):
    sets = [thing for thing in report.objects if thing["kind"] == "LeaderWorkerSet"]
    assert bool(sets) is (report.launch.wanted.nodes > 1)
    for thing in sets:
        assert thing["apiVersion"] == "leaderworkerset.x-k8s.io/v1"
        assert set(thing["spec"]) == {"replicas", "leaderWorkerTemplate"}
        template = thing["spec"]["leaderWorkerTemplate"]
        assert set(template) == {"size", "restartPolicy", "leaderTemplate", "workerTemplate"}
        assert template["size"] == report.launch.wanted.nodes
        for pod in pods_of(thing):  # a pod template is what a Deployment has
            labels = {"app": "x"}
            inside = {"metadata": {"labels": labels}, "spec": pod["spec"]}
            made = {"selector": {"matchLabels": labels}, "template": inside}
            whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": made}
            kubernetes_validate.validate(whole, KUBERNETES, strict=True)


def test_every_selector_finds_its_pods(report):
    by_name = {thing["metadata"]["name"]: thing for thing in report.objects if thing["kind"] != "Service"}
    services = [thing for thing in report.objects if thing["kind"] == "Service"]
    assert services
    for service in services:
        thing = by_name[service["metadata"]["name"]]
        labels = pods_of(thing)[0]["metadata"]["labels"]
        selector = dict(service["spec"]["selector"])
        # The controller puts its own label on the pods of a set.
        if selector.pop("leaderworkerset.sigs.k8s.io/name", thing["metadata"]["name"]):
            assert selector.items() <= labels.items()


def test_pods_have_their_gpus_shared_memory_and_probes(report):
    wanted = report.launch.wanted
    resource = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}[wanted.gpu.vendor.lower()]
    for thing in report.objects:
        for number, pod in enumerate(pods_of(thing)):
            (container,) = pod["spec"]["containers"]
            assert container["resources"]["limits"] == {resource: str(wanted.gpus_per_node)}
            assert {"name": "shm", "mountPath": "/dev/shm"} in container["volumeMounts"]
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            assert mounts == {volume["name"] for volume in pod["spec"]["volumes"]}
            probes = [container.get(f"{kind}Probe") for kind in ("startup", "readiness", "liveness")]
            assert all((probe is not None) is (number == 0) for probe in probes)
            assert all(probe["httpGet"] == {"path": "/health", "port": "http"} for probe in probes if probe)


def test_a_token_is_only_named(report):
    for thing in report.objects:
        for pod in pods_of(thing):
            token = pod["spec"]["containers"][0]["env"][0]
            assert token["name"] == "HF_TOKEN"
            assert set(token["valueFrom"]["secretKeyRef"]) == {"name", "key", "optional"}
    assert "hf_" not in report.to_text()
    assert not [thing for thing in report.objects if thing["kind"] == "Secret"]


def test_a_token_in_the_environment_is_in_no_output(monkeypatch, catalogue):
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefSECRET")
    for form in ("command", "kubernetes", "compose", "json"):
        report = launched(**ONE, format=form, catalogue=catalogue)
        assert "abcdefSECRET" not in report.to_text() + json.dumps(report.to_dict())


def test_arguments_are_those_of_the_command(catalogue):
    report = launched(**ONE, format="kubernetes", catalogue=catalogue)
    (container,) = pods_of(report.objects[0])[0]["spec"]["containers"]
    assert [*container["command"], *container["args"]] == list(report.launch.servers[0].lines[0].words)


def test_a_shell_gives_each_worker_its_rank(catalogue):
    """The script of a worker is run with `vllm` replaced by a program that prints its arguments."""
    report = launched(**QUESTIONS["ranks over nodes"], format="kubernetes", catalogue=catalogue)
    worker = pods_of(report.objects[0])[1]["spec"]["containers"][0]
    script = worker["args"][0].replace("exec vllm", "exec printf '%s\\n'")
    env = {"LWS_WORKER_INDEX": "1", "LWS_LEADER_ADDRESS": "leader.svc", "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([*worker["command"], script], env=env, capture_output=True, text=True, check=True)
    words = ran.stdout.splitlines()
    assert words[words.index("--data-parallel-start-rank") + 1] == "8"
    assert words[words.index("--data-parallel-address") + 1] == "leader.svc"
    other = launched(**SEVERAL, format="kubernetes", catalogue=catalogue)
    script = pods_of(other.objects[0])[1]["spec"]["containers"][0]["args"][0]
    assert '--node-rank "$LWS_WORKER_INDEX"' in script
    assert "\\\n" in script
    assert "args:\n          - |-\n            exec vllm serve" in other.to_text()


def test_pools_are_objects_of_their_own(catalogue):
    report = launched(**QUESTIONS["pools"], format="kubernetes", catalogue=catalogue)
    names = [thing["metadata"]["name"] for thing in report.objects if thing["kind"] == "Deployment"]
    assert names == ["deepseek-r1-prefill-1", "deepseek-r1-decode-1", "deepseek-r1-decode-2"]
    address = pods_of(report.objects[0])[0]["spec"]["containers"][0]["env"][1]
    assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_names_and_replicas_are_taken(catalogue):
    deployment, service = launched(**QUESTIONS["replicas"], format="kubernetes", catalogue=catalogue).objects
    assert deployment["spec"]["replicas"] == 3
    assert deployment["metadata"]["name"] == service["metadata"]["name"] == "chat"
    token = pods_of(deployment)[0]["spec"]["containers"][0]["env"][0]
    assert token["valueFrom"]["secretKeyRef"]["name"] == "ours"


def test_compose_has_one_server_with_its_devices(catalogue):
    nvidia = yaml.safe_load(launched(**ONE, format="compose", catalogue=catalogue).to_text())
    service = nvidia["services"]["llama-3-1-8b"]
    assert service["deploy"]["resources"]["reservations"]["devices"][0]["count"] == 1
    assert service["environment"] == {"HF_TOKEN": None}
    assert [*service["entrypoint"], *service["command"]][:3] == [
        "vllm",
        "serve",
        "meta-llama/Llama-3.1-8B-Instruct",
    ]
    amd = yaml.safe_load(launched(**QUESTIONS["amd"], format="compose", catalogue=catalogue).to_text())
    assert amd["services"]["kimi-k3"]["devices"] == ["/dev/kfd", "/dev/dri"]
    file = yaml.safe_load(launched(**QUESTIONS["a file"], format="compose", catalogue=catalogue).to_text())
    assert json.loads(file["configs"]["trtllm.yaml"]["content"])["kv_cache_config"] == {"dtype": "fp8"}
    gguf = yaml.safe_load(launched(**QUESTIONS["llama.cpp"], format="compose", catalogue=catalogue).to_text())
    assert gguf["services"]["llama-3-1-8b"]["entrypoint"] == ["/app/llama-server"]
    for several in (SEVERAL, QUESTIONS["replicas"], QUESTIONS["pools"]):
        with pytest.raises(Unsupported, match="one server on one node"):
            launched(**several, format="compose", catalogue=catalogue).to_text()


def test_an_image_that_is_not_known_is_asked_for(catalogue):
    old = {"model": "llama-3.1-8b", "gpu": "mi300x", "engine": "vllm==0.11.2"}
    assert launched(**old, catalogue=catalogue).launch.image is None
    with pytest.raises(Unsupported, match="name one with --image"):
        launched(**old, format="kubernetes", catalogue=catalogue).to_text()
    named = launched(**old, format="kubernetes", image="rocm/vllm:ours", catalogue=catalogue)
    assert pods_of(named.objects[0])[0]["spec"]["containers"][0]["image"] == "rocm/vllm:ours"


def test_long_commands_are_blocks_of_yaml():
    text = yaml_text([{"a": "one \\\n  two"}, {"b": ["x"] * 2}])
    assert text == "a: |-\n  one \\\n    two\n---\nb:\n- x\n- x\n"


def test_commands_parse_in_a_shell(catalogue):
    for asked in QUESTIONS.values():
        text = launched(**asked, isl=2000, osl=200, catalogue=catalogue).to_text()
        subprocess.run(["/bin/sh", "-n"], input=text, text=True, check=True)
        assert shlex.split(text.replace("\\\n", ""), comments=True)
