"""What a user's entry does not say outright: the instruction set of a GPU, and the line of a bad config."""

from __future__ import annotations

from pathlib import Path

import pytest

import planner
from planner.catalogue import load_catalogue
from planner.catalogue.gpu import isa_named
from planner.errors import CatalogueError, PlannerError
from tests.catalogue.user_catalogue import GPU, line_with, write

FP4 = "      fp4: {value: 3950 TFLOPS, source: my-datasheet}\n"


def with_architecture(text: str) -> str:
    named = GPU.replace("architecture: Test\n    isa: sm_90\n", text)
    return named.replace("    scale_up:", f"{FP4}    scale_up:")


@pytest.mark.parametrize(
    ("architecture", "isa"),
    [
        ("Hopper (sm_90)", "sm_90"),
        ("Hopper (SM90a)", "sm_90"),
        ("Hopper", "sm_90"),
        ("Ada Lovelace", "sm_89"),
        ("CDNA 3", "gfx942"),
        ("CDNA3 (gfx942)", "gfx942"),
        ("RDNA3.5", "gfx1151"),
        ("Blackwell Ultra", "sm_103"),
        ("Blackwell", None),
        ("Ampere", None),
        ("Radaada", None),
    ],
)
def test_an_architecture_names_its_instruction_set(architecture: str, isa: str | None) -> None:
    assert isa_named(architecture) == isa


def test_shipped_architectures_name_no_other_instruction_set_than_the_entry() -> None:
    for gpu in load_catalogue().gpus():
        assert isa_named(gpu.architecture) in (None, gpu.isa)


@pytest.mark.parametrize(
    "text",
    ["architecture: Hopper (sm_90)\n", "architecture: Hopper\n", "architecture: New\n    isa: sm_90a\n"],
)
def test_fp4_on_hopper_is_refused_however_hopper_is_said(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, with_architecture(text))
    with pytest.raises(CatalogueError, match=r"sm_90 has no fp4 units, so it has no fp4 peak") as refused:
        load_catalogue(extra=[file])
    assert str(refused.value).startswith(
        f"{file}:{line_with(with_architecture(text), 'fp4:')}: gpus.x1.peaks.fp4: "
    )


def test_peaks_of_an_unnamed_instruction_set_are_refused(tmp_path: Path) -> None:
    text = with_architecture("architecture: Test\n").replace("vendor: Nobody", "vendor: NVIDIA")
    with pytest.raises(CatalogueError, match=r"peaks\.fp4: isa is missing, .*: add isa: sm_90"):
        load_catalogue(extra=[write(tmp_path, text)])


MODEL = """\
models:
  ours:
    name: Ours
    config_status: published
    config:
      architectures: [LlamaForCausalLM]
      model_type: llama
      hidden_size: {hidden}
      {more}
"""


@pytest.mark.parametrize(
    ("hidden", "more", "line", "complaint"),
    [
        ("x", "vocab_size: 10", "hidden_size", "hidden_size is"),
        ("4096", "vocab_size: -2", "vocab_size", "vocab_size is"),
        ("4096", "tie_word_embeddings: true", "config", "vocab_size is missing"),
    ],
)
def test_a_bad_config_of_a_file_is_named_with_its_line(
    tmp_path: Path, hidden: str, more: str, line: str, complaint: str
) -> None:
    text = MODEL.format(hidden=hidden, more=more)
    file = write(tmp_path, text)
    with pytest.raises(PlannerError, match=complaint) as refused:
        planner.fit(model="ours", gpu="h100", catalogue=file)
    assert str(refused.value).startswith(f"{file}:{line_with(text, f'{line}:')}: ours: ")


def test_an_unknown_architecture_is_named_with_its_line(tmp_path: Path) -> None:
    text = MODEL.format(hidden=1, more="x: 1").replace("LlamaForCausalLM", "NoSuch")
    file = write(tmp_path, text)
    with pytest.raises(PlannerError, match="architecture 'NoSuch' is unknown") as refused:
        planner.fit(model="ours", gpu="h100", catalogue=file)
    assert str(refused.value).startswith(f"{file}:{line_with(text, 'architectures:')}: ")
