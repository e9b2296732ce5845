"""What is asked of media models: whole tokens, passes, experts, and clear refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue.media import media_model
from planner.errors import InvalidInput
from planner.scenario.media import (
    expert_steps,
    host_megapixels,
    job_of,
    media_workload,
    mesh_cells,
    passes_of,
    read_size,
)


@pytest.mark.parametrize(
    ("model", "asked", "tokens"),
    [
        ("flux.1-dev", {"size": "1024x1024"}, 4096),
        ("flux.1-dev", {"size": "2560x2560"}, 25_600),
        ("wan2.2", {"size": "1280x720", "frames": 81}, 75_600),  # published: 21 x 45 x 80
        ("wan2.2", {"size": (1280, 1280), "frames": 81}, 134_400),
        ("wan2.2", {"size": "1280x720", "frames": 1}, 3600),
        ("hunyuan3d", {}, 4096),
        ("hunyuan3d", {"latents": 512}, 512),
    ],
)
def test_tokens(catalogue, model, asked, tokens):
    found = media_model(catalogue, model)
    assert job_of(found, media_workload(found, asked)).tokens == tokens


@pytest.mark.parametrize(
    ("model", "guidance", "passes"),
    [
        ("flux.1-dev", 3.5, 1),  # an input of the model
        ("wan2.2", 1.0, 1),
        ("wan2.2", 3.5, 2),
        ("hunyuan3d", 5.0, 2),
        ("hunyuan3d", 0.0, 1),
    ],
)
def test_guidance_doubles_the_passes_unless_it_is_an_input(catalogue, model, guidance, passes):
    found = media_model(catalogue, model)
    assert passes_of(found, media_workload(found, {"guidance": guidance})) == passes


@given(steps=st.integers(1, 200))
def test_both_experts_have_all_steps_between_them(catalogue, steps):
    wan = media_model(catalogue, "wan2.2")
    high, low = expert_steps(wan, media_workload(wan, {"steps": steps}))
    assert high + low == steps
    assert high >= 1  # the first step is all noise


def test_the_boundary_decides_how_many_steps_each_expert_has(catalogue):
    wan = media_model(catalogue, "wan2.2")
    workload = media_workload(wan, {"steps": 40})
    # shift 12, boundary 0.875: t >= 0.875 / (12 - 11 x 0.875) = 0.3684, so 26 of the 40 steps
    assert expert_steps(wan, workload) == (26, 14)
    assert expert_steps(wan.model_copy(update={"boundary": 0.999}), workload)[0] < 26
    flux = media_model(catalogue, "flux.1-dev")
    assert expert_steps(flux, media_workload(flux, {"steps": 7})) == (7,)


def test_what_the_host_writes(catalogue):
    wan, shape = media_model(catalogue, "wan2.2"), media_model(catalogue, "hunyuan3d")
    assert host_megapixels(media_workload(wan, {})) == pytest.approx(81 * 0.4096)
    assert mesh_cells(shape, media_workload(shape, {})) == pytest.approx(3.0 * 257**2)


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("flux.1-dev", {"size": "1000x1024"}, "width 1000 is no multiple of 16 .* 992 is"),
        ("flux.1-dev", {"size": "1024x1000"}, "height 1000 is no multiple of 16"),
        ("flux.1-dev", {"size": "8x8"}, "16 is"),
        ("flux.1-dev", {"size": "1024"}, "write width x height"),
        ("flux.1-dev", {"size": 1024}, "write width x height"),
        ("flux.1-dev", {"size": "1024x1024x3"}, "write width x height"),
        ("flux.1-dev", {"size": "99999x99999"}, "width"),
        ("flux.1-dev", {"frames": 81}, "makes images, whose size is size"),
        ("flux.1-dev", {"steps": 0}, "steps"),
        ("flux.1-dev", {"steps": 2.5}, "steps"),
        ("flux.1-dev", {"guidance": float("nan")}, "guidance"),
        ("flux.1-dev", {"guidance": -1}, "guidance"),
        ("wan2.2", {"frames": 80}, r"80 is not 4n \+ 1, .* 81 is"),
        ("wan2.2", {"frames": 0}, "frames"),
        ("wan2.2", {"octree": 256}, "makes videos, whose size is size and frames"),
        ("hunyuan3d", {"size": "512x512"}, "makes meshes, whose size is latents and octree"),
        ("hunyuan3d", {"latents": 0}, "latents"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(catalogue, model, asked, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        media_workload(media_model(catalogue, model), asked)
    assert "\n" not in str(refused.value)


def test_sizes_are_read_however_they_are_written():
    assert read_size("1280X720") == read_size((1280, 720)) == read_size([1280, 720]) == (1280, 720)
