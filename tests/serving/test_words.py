"""Names that go into commands, and quoting."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.serving.words import Shell, checked, label_of, shell_text

WORDS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        ("checkpoint", "meta-llama/Llama-3.1-8B-Instruct"),
        ("checkpoint", "/models/kimi_k3"),
        ("checkpoint", "./qwen3-8b-q4_k_m.gguf"),
        ("checkpoint", "unsloth/gpt-oss-120b-GGUF:Q4_K_M"),
        ("image", "nvcr.io/nvidia/tensorrt-llm/release:1.2.1"),
        ("image", "registry.local:5000/vllm@sha256:" + "a" * 64),
        ("head", "10.0.0.1"),
        ("head", "node-0.cluster.local"),
        ("head", "[fe80::1]"),
        ("name", "kimi-k3"),
        ("hf_secret", "hf-token"),
    ],
)
def test_usual_names_are_taken(kind, good):
    assert checked(kind, good) == good


@pytest.mark.parametrize("kind", ["checkpoint", "image", "head", "name", "hf_secret"])
@pytest.mark.parametrize(
    "odd",
    [
        "",
        " ",
        "a b",
        "a;b",
        "$(id)",
        "`id`",
        "a'b",
        'a"b',
        "a\nb",
        "-rf",
        "--flag",
        "a/../../b",
        "a&b",
        "é",
        "a" * 400,
        3,
        None,
    ],
)
def test_names_with_odd_characters_are_refused(kind, odd):
    with pytest.raises(InvalidInput, match=f"^{kind}: "):
        checked(kind, odd)


def test_a_label_is_what_kubernetes_takes():
    assert label_of("Llama-3.1-8B") == "llama-3-1-8b"
    assert label_of("--") == "model"
    assert len(label_of("x." * 60)) <= 52


@settings(max_examples=60)
@given(words=WORDS)
def test_a_shell_reads_the_same_words_back(words):
    line = shell_text(["printf", r"%s\0", *words])
    ran = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True)
    assert ran.stdout.decode().split("\0")[:-1] == words


def test_a_shell_expands_variables_and_nothing_else():
    words = ["printf", "%s|", Shell("$WHERE:5000"), "$WHERE", "a b", "'", Shell("$((RANK * 8))")]
    text = shell_text(words, [("WHERE", "unused")])
    ran = subprocess.run(
        ["/bin/sh", "-c", text],
        env={"WHERE": "10.0.0.1", "RANK": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "10.0.0.1:5000|$WHERE|a b|'|16|"


def test_lines_are_no_longer_than_a_terminal():
    words = ["vllm", "serve", "x/y", *[word for n in range(30) for word in (f"--flag-{n}", str(n))]]
    assert max(map(len, shell_text(words).splitlines())) <= 102
