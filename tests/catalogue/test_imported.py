"""Models by name and from a `config.json`, good and bad."""

from __future__ import annotations

import builtins
import contextlib
import json
import logging
import sys
import types

import pytest

from planner.architecture import build_architecture
from planner.architecture.totals import parameters
from planner.catalogue.imported import MAX_CONFIG_BYTES, model_from
from planner.errors import InvalidInput, PlannerError, UnknownName, Unsupported, UnsupportedArchitecture

LLAMA_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_a_path_gives_the_model_of_its_configuration(tmp_path, catalogue):
    path = write(tmp_path / "my-model.json", LLAMA_8B)
    choice = model_from(path, catalogue)
    assert choice.model.id == "my-model"
    assert choice.model.config_status == "imported"
    assert choice.quantisation is None
    assert parameters(build_architecture(choice.model.config, path)) == 8_030_261_248


def test_a_directory_is_called_by_its_name(tmp_path, catalogue):
    (tmp_path / "tuned-8b").mkdir()
    write(tmp_path / "tuned-8b" / "config.json", LLAMA_8B)
    assert model_from(str(tmp_path / "tuned-8b"), catalogue).model.name == "tuned-8b"


@pytest.mark.parametrize("name", ["kimi-k3", "moonshotai/Kimi-K3", "KIMI-K3"])
def test_ids_repositories_and_any_case_name_a_catalogue_model(catalogue, name):
    assert model_from(name, catalogue).model.id == "kimi-k3"


def test_an_alias_may_imply_a_quantisation(catalogue):
    choice = model_from("nvidia/Llama-3.1-8B-Instruct-FP8", catalogue)
    assert (choice.model.id, choice.quantisation) == ("llama-3.1-8b", "fp8-static")


def test_a_slip_gets_the_nearest_names(catalogue):
    with pytest.raises(UnknownName, match="kimi-k3"):
        model_from("kimi-k33", catalogue)


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not JSON"),
        ('{"architectures": ["Llama', "not JSON"),
        ("[1, 2]", "expected a JSON object"),
        ("{}", "architectures is missing"),
        (DEEP, "nested too deeply"),
        (
            '{"architectures": ["LlamaForCausalLM"], "hidden_size": ' + "9" * 5000 + "}",
            "integer string conversion",
        ),
        ('{"architectures": ["LlamaForCausalLM"], "rms_norm_eps": NaN}', "NaN is not a number"),
        ('{"architectures": ["A"], "architectures": ["B"]}', "stands there twice"),
    ],
)
def test_a_bad_file_gets_one_line_that_names_it(tmp_path, catalogue, content, says):
    path = write(tmp_path / "config.json", content)
    with pytest.raises(InvalidInput, match=says) as caught:
        model_from(path, catalogue)
    message = str(caught.value)
    assert path in message
    assert "\n" not in message
    assert len(message) < 400


def test_a_missing_file_a_huge_file_and_a_binary_file_are_refused(tmp_path, catalogue):
    with pytest.raises(InvalidInput, match="cannot be read"):
        model_from(str(tmp_path / "none.json"), catalogue)
    with pytest.raises(InvalidInput, match="larger than 4 MiB"):
        model_from(write(tmp_path / "huge.json", " " * (MAX_CONFIG_BYTES + 1)), catalogue)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        model_from(str(tmp_path / "binary.json"), catalogue)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"architectures": ["LlamaForCausalML"]}, UnsupportedArchitecture, "LlamaForCausalLM"),
        ({"architectures": ["Unheard"]}, UnsupportedArchitecture, "'Unheard' is unknown"),
        ({"architectures": []}, UnsupportedArchitecture, "architectures is empty"),
        ({"architectures": "Llama"}, InvalidInput, "not a list of str"),
        ({"hidden_size": None}, InvalidInput, "hidden_size is missing"),
        ({"hidden_size": 0}, InvalidInput, "hidden_size is 0"),
        ({"hidden_size": -4096}, InvalidInput, "from 0 to"),
        ({"hidden_size": 4096.0}, InvalidInput, "hidden_size is 4096.0"),
        ({"hidden_size": True}, InvalidInput, "hidden_size is true"),
        ({"hidden_size": "4096"}, InvalidInput, 'hidden_size is "4096"; expected an integer'),
        ({"vocab_size": 10**30}, InvalidInput, "from 0 to"),
        ({"vocab_size": 10**3000}, InvalidInput, "a giant integer"),
        ({"num_hidden_layers": 2**31}, InvalidInput, "num_hidden_layers"),
        ({"tie_word_embeddings": "no"}, InvalidInput, "expected true or false"),
    ],
)
def test_an_impossible_field_is_named(tmp_path, catalogue, change, error, says):
    path = write(tmp_path / "config.json", {**LLAMA_8B, **change})
    with pytest.raises(error, match=says):
        build_architecture(model_from(path, catalogue).model.config, path)


def test_every_field_of_a_real_configuration_may_be_hostile(catalogue):
    """Whatever a field holds, it is read, or refused by an error that a user sees as one line."""
    hostile = [None, -1, 0, 2**31, 2**70, 1.5, "x", True, [], {}, [1], [None], {"a": 1}]
    for key in ("gpt-oss-120b", "deepseek-v3", "kimi-k3", "qwen3-next-80b-a3b", "gemma-3-27b"):
        config = catalogue.model(key).config
        for field in config:
            for value in hostile:
                with contextlib.suppress(PlannerError):
                    build_architecture({**config, field: value}, key)


def test_the_hub_is_asked_only_for_a_repository_outside_the_catalogue(tmp_path, catalogue, monkeypatch):
    asked = []

    def download(repository, file):
        asked.append((repository, file))
        return write(tmp_path / "config.json", LLAMA_8B)

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=download))
    assert model_from("someone/new-llama", catalogue).model.id == "someone/new-llama"
    assert asked == [("someone/new-llama", "config.json")]


def test_a_hub_that_does_not_answer_gives_one_line(catalogue, monkeypatch):
    def download(repository, file):
        raise OSError("offline mode is on\nsecond line")

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=download))
    with pytest.raises(UnknownName, match=r"offline mode is on$"):
        model_from("someone/new-llama", catalogue)


def test_attempts_of_the_hub_library_are_not_shown(catalogue, monkeypatch, capfd):
    def download(repository, file):
        logging.getLogger("huggingface_hub.utils._http").warning("Retrying in 1s [Retry 1/5].")
        raise OSError("no route to the hub")

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=download))
    with pytest.raises(UnknownName, match="no route to the hub"):
        model_from("someone/new-llama", catalogue)
    assert capfd.readouterr() == ("", "")


def test_without_the_hub_library_the_extra_is_named(catalogue, monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *rest, **more):
        if name == "huggingface_hub":
            raise ImportError(name)
        return real_import(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(Unsupported, match=r"planner\[hub\]"):
        model_from("someone/new-llama", catalogue)


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("qwen3-30b-a3b", 40_960),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", 262_144),
        ("qwen/qwen3-coder-30b-a3b-instruct", 262_144),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 131_072),
    ],
)
def test_a_name_may_take_a_longer_request_than_its_entry(catalogue, name, tokens):
    model = model_from(name, catalogue).model
    assert model.max_context == tokens
    assert build_architecture(model.config).max_context == tokens


def test_every_name_with_a_context_of_its_own_is_a_name_of_the_model(catalogue):
    for model in catalogue.models():
        known = {*model.aliases, *model.quantised_aliases}
        assert set(model.contexts) <= known


@pytest.mark.parametrize(
    "name", ["NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8", "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8"]
)
def test_nvidias_fp8_checkpoints_have_a_scale_for_each_matrix(catalogue, name):
    assert model_from(name, catalogue).quantisation == "fp8-static"
