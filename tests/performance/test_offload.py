"""Layers and experts on the CPU, and weights that stream to the GPU, against published runs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planner
from planner.catalogue import Catalogue, load_catalogue
from planner.catalogue.hosts import host_machine
from planner.errors import CatalogueError, DoesNotFit, IllegalDeployment, InvalidInput, UnknownName
from planner.memory import MemoryFit, fit_memory
from planner.performance.predict import Prediction, predict_deployment
from planner.scenario import Deployment, Workload

RUNS = Path(__file__).parents[2] / "measurements" / "offload" / "runs.csv"
MODELS = {"Mistral-Small-24B": "mistral-small-3.1-24b", "Qwen2.5-Coder-14B": "qwen2.5-14b"}
CLOSE, WITHIN = 0.10, 0.20
"""What dense layers on the CPU come within; and experts there, whose kernels differ."""

ALL = 49
"""Layers and output of Qwen2.5-14B."""

MISSED = "epyc-7343-ddr4-3200"
"""A host whose CPU was published to read 2 GB/s of weights, as docs/consumer.md says."""


def runs() -> list[dict[str, str]]:
    with RUNS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def predicted(catalogue: Catalogue, run: dict[str, str]) -> Prediction:
    options = {
        "ngl": int(run["ngl"]) if run["ngl"] else None,
        "n_cpu_moe": int(run["n_cpu_moe"]) if run["n_cpu_moe"] else None,
        "cpu_offload_gb": float(run["cpu_offload_gib"]) if run["cpu_offload_gib"] else None,
    }
    if options["ngl"] == 99:  # llama.cpp takes any number as all; here it is the model's own
        options["ngl"] = ALL
    return predict_deployment(
        model=catalogue.model(MODELS.get(run["model"], run["model"])),
        gpu=catalogue.gpu(run["gpu"]),
        deployment=Deployment(
            engine="vllm==0.6.6" if run["engine"] == "vllm" else run["engine"],
            weight_dtype=run["weight_dtype"] or None,
            host=run["host"],
            text_only=True,
            **options,
        ),
        workload=Workload(isl=int(run["isl"]), osl=int(run["osl"]), concurrency=1),
        catalogue=catalogue,
    )


KEPT = [run for run in runs() if run["host"] != MISSED]


@pytest.mark.parametrize("run", KEPT, ids=lambda run: f"{run['model']}-{run['ngl'] or run['n_cpu_moe']}")
def test_published_runs(catalogue, run):
    found = predicted(catalogue, run)
    measured = float(run["tps_per_user"])
    loose = run["n_cpu_moe"] or run["ngl"] == "99"
    off = WITHIN if loose else CLOSE
    assert found.tps_per_user.value == pytest.approx(measured, rel=off)
    if run["ngl"] in ("0", "8", "16", "24", "32"):
        assert found.bound_by == "host memory bandwidth"
    if run["engine"] == "vllm":
        assert found.bound_by == "link to the host"


def test_a_published_run_that_is_missed(catalogue):
    """Tokens are predicted far too fast and prompts are not, as the page says with these numbers."""
    found = [(run, predicted(catalogue, run)) for run in runs() if run["host"] == MISSED]
    assert [run["ngl"] or run["n_cpu_moe"] for run, _ in found] == ["13", "27", "27", "27", "27"]
    rates = [one.tps_per_user.value for _, one in found]
    assert rates == pytest.approx([32.8, 34.3, 34.3, 34.2, 33.7], rel=0.01)
    assert all(one.tps_per_user.low > 5 * float(run["tps_per_user"]) for run, one in found)
    prompts = [1e3 * int(run["isl"]) / one.ttft_ms.value for run, one in found]
    assert prompts == pytest.approx([51.4, 56.7, 318.5, 274.9, 269.9], rel=0.01)


def fitted(catalogue: Catalogue, gpu: str = "rtx-4090", model: str = "llama-2-70b", **options) -> MemoryFit:
    return fit_memory(
        model=catalogue.model(model),
        gpu=catalogue.gpu(gpu),
        deployment=Deployment(**{"engine": "llama.cpp", "weight_dtype": "q4_k_m", **options}),
        workload=Workload(context=2048),
        catalogue=catalogue,
    )


def test_layers_go_to_one_side_or_the_other(catalogue):
    # 80 layers and the output: with ngl 41 the output and the last 40 layers are on the GPU.
    half, whole = fitted(catalogue, ngl=41), fitted(catalogue, gpu="h200")
    assert half.per_rank.layers == (40, 79)
    assert half.fits
    assert not fitted(catalogue).fits
    per_layer = 4.8944 / 8 * (68976648192 - 2 * 32000 * 8192 - 8192) / 80
    head = 4.8944 / 8 * 32000 * 8192
    assert half.per_rank.weights_bytes == pytest.approx(40 * per_layer + head, rel=1e-3)
    assert whole.per_rank.weights_bytes == pytest.approx(80 * per_layer + 2 * head, rel=1e-3)


def test_the_verdict_says_how_many_layers_fit(catalogue):
    found = fitted(catalogue)
    said = next(text for text in found.remedies if "ngl" in text)
    assert said == (
        "46 of 80 layers and the output on the GPU (ngl 47), the others on the CPU (enough by itself)"
    )
    assert fitted(catalogue, ngl=47).fits
    assert not fitted(catalogue, ngl=48).fits


def test_the_verdict_says_how_many_experts_must_stay_off(catalogue):
    found = fit_memory(
        model=catalogue.model("gpt-oss-120b"),
        gpu=catalogue.gpu("rtx-3090"),
        deployment=Deployment(engine="llama.cpp"),
        workload=Workload(context=8192),
        catalogue=catalogue,
    )
    said = next(text for text in found.remedies if "n_cpu_moe" in text)
    least = int(said.split("n_cpu_moe ")[1].split(")")[0])
    for count, fits in ((least, True), (least - 1, False)):
        assert fitted(catalogue, "rtx-3090", "gpt-oss-120b", weight_dtype=None, n_cpu_moe=count).fits is fits


def test_vllm_is_told_how_many_gib_to_stream(catalogue):
    found = fitted(catalogue, engine="vllm", weight_dtype="bf16", model="llama-2-13b")
    said = next(text for text in found.remedies if "cpu_offload_gb" in text)
    gib = float(said.split("cpu_offload_gb ")[1].split(")")[0].split(":")[0])
    assert fitted(catalogue, engine="vllm", weight_dtype="bf16", model="llama-2-13b", cpu_offload_gb=gib).fits


def test_a_card_that_cannot_hold_one_layer(catalogue):
    found = fitted(catalogue, "rtx-4060", "llama-4-maverick", ngl=2, host="epyc-9004")
    assert not found.fits
    assert found.binding_limit.startswith("weights: ")
    assert any("no whole layer fits" in text for text in found.remedies)


def test_a_host_that_is_too_small(catalogue):
    found = fitted(catalogue, "rtx-4090", "llama-3.1-405b", ngl=1, host="desktop-ddr5-5600")
    assert not found.fits
    assert found.binding_limit.startswith("host memory: ")
    assert "desktop-ddr5-5600" in found.binding_limit


def test_what_64_gib_hold_of_gpt_oss_120b(catalogue):
    host = {"gpu": "rtx-3090", "model": "gpt-oss-120b", "weight_dtype": None, "host": MISSED}
    for placed, held in (({"ngl": 13}, 43.1), ({"n_cpu_moe": 27}, 46.9)):
        found = fitted(catalogue, **host, **placed)
        assert found.fits
        assert found.host_side.room_bytes == pytest.approx(0.9 * 64 * 2**30 - held * 1e9, rel=0.01)
    all_experts = fitted(catalogue, **host, n_cpu_moe=36)
    assert not all_experts.fits
    assert all_experts.binding_limit.startswith("host memory: 57.88 GiB of weights")


def test_the_host_is_assumed_aloud(catalogue):
    named = fitted(catalogue, ngl=41, host="epyc-9004")
    silent = fitted(catalogue, ngl=41)
    assert not [item for item in named.assumptions if item.name == "host"]
    assert [item.value for item in silent.assumptions if item.name == "host"] == ["desktop-ddr5-5600"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"ngl": 82}, InvalidInput, "ngl 82 is above the 80 layers and the output; legal: 0 to 81"),
        ({"ngl": 40, "engine": "vllm", "weight_dtype": "bf16"}, InvalidInput, "llama.cpp does"),
        ({"cpu_offload_gb": 20.0}, InvalidInput, "ngl puts layers on the CPU"),
        ({"cpu_offload_gb": 9.0, "engine": "mlc-llm", "weight_dtype": "int4"}, InvalidInput, "sglang do"),
        ({"n_cpu_moe": 4}, InvalidInput, "the model has no experts"),
        ({"ngl": 40, "tp": 2}, IllegalDeployment, "beside 2 GPUs is not planned"),
        ({"ngl": 40, "host": "desktop-ddr5-560"}, UnknownName, "nearest: desktop-ddr5-5600"),
        ({"host": "epyc-9004"}, InvalidInput, "needs ngl, n_cpu_moe or cpu_offload_gb"),
        ({"cpu_offload_gb": 5e2, "engine": "vllm", "weight_dtype": "f16"}, IllegalDeployment, "is not below"),
    ],
)  # fmt: skip
def test_impossible_offloads_are_refused_in_a_line(catalogue, options, error, said):
    with pytest.raises(error, match=said) as caught:
        fitted(catalogue, **options)
    assert "\n" not in str(caught.value)


def test_layers_that_do_not_fit_have_no_rate(catalogue):
    with pytest.raises(DoesNotFit, match="weights: "):
        predict_deployment(
            model=catalogue.model("llama-2-70b"),
            gpu=catalogue.gpu("rtx-4090"),
            deployment=Deployment(engine="llama.cpp", weight_dtype="q4_k_m"),
            workload=Workload(isl=64, osl=64),
            catalogue=catalogue,
        )


def test_the_json_says_what_is_off_the_gpu():
    from planner import fit

    record = fit(
        model="gpt-oss-20b", gpu="rtx-3070", engine="llama.cpp", n_cpu_moe=12, context=4096, host="desktop"
    ).to_dict()
    # 12 of 24 layers of 32 experts with 3 x 2880 x 2880 weights at 4.25 bits, and the table of tokens.
    gib = (12 * 32 * 3 * 2880 * 2880 * 4.25 / 8 + 201088 * 2880 * 2) / 2**30
    assert record["off_gpu"].pop("host_weights_gib") == pytest.approx(gib, rel=0.005)
    assert record["off_gpu"] == {
        "host": "desktop-ddr5-5600",
        "cpu_layers": 0,
        "expert_layers": 12,
        "streamed": False,
        "host_read_bytes_per_s": pytest.approx(53.76e9),
    }
    assert "off_gpu" not in fit(model="gpt-oss-20b", gpu="rtx-4090", context=4096).to_dict()


def test_one_card_alone_is_named_where_several_are_chosen():
    from planner import fit

    # hardware-corner.net, 2025-11: 13 layers of gpt-oss-120b fit an RTX 3090, or all but some experts.
    asked = {"model": "gpt-oss-120b", "gpu": "rtx-3090", "engine": "llama.cpp", "context": 8192}
    notes = [note for note in fit(**asked).answers[0].notes if "alone holds it" in note]
    assert notes == [
        "one rtx-3090 alone holds it with the experts of 24 of 36 layers on the CPU (n_cpu_moe 24), or "
        "13 of 36 layers and the output on the GPU (ngl 14), the others on the CPU"
    ]
    assert not [note for note in fit(**asked, gpus=3).answers[0].notes if "alone holds it" in note]


def test_what_does_not_fit_beside_the_cpu_is_told_of_one_card():
    from planner import predict

    answer = predict(
        model="gpt-oss-20b", gpu="rtx-4060", engine="llama.cpp", n_cpu_moe=0, isl=64, osl=64
    ).answers[0]
    assert (answer.answered, answer.fit.gpus) == (False, 1)
    assert any("n_cpu_moe" in text or "ngl" in text for text in answer.fit.memory.remedies)


BOOK = load_catalogue()


def rate(**options: object) -> float:
    return predict_deployment(
        model=BOOK.model("qwen2.5-14b"),
        gpu=BOOK.gpu("rtx-4090"),
        deployment=Deployment(engine="llama.cpp", weight_dtype="q4_k_m", **options),
        workload=Workload(isl=64, osl=64, concurrency=1),
        catalogue=BOOK,
    ).tps_per_user.value


@settings(max_examples=25)
@given(ngl=st.integers(0, ALL - 2))
def test_one_more_layer_on_the_gpu_is_never_slower(ngl):
    assert rate(ngl=ngl + 1) >= rate(ngl=ngl)


@settings(max_examples=25)
@given(ngl=st.integers(0, ALL - 1))
def test_a_faster_memory_is_never_slower(ngl):
    assert (
        rate(ngl=ngl, host="epyc-9004") >= rate(ngl=ngl, host="ddr5-5600") >= rate(ngl=ngl, host="ddr4-3200")
    )


def test_all_layers_on_the_gpu_are_no_offload():
    assert rate(ngl=ALL) == rate()


def test_a_share_outside_its_range_is_refused(tmp_path):
    file = tmp_path / "ours.yaml"
    file.write_text("hosts:\n  desktop-ddr5-5600:\n    memory_share_range: [0.7, 0.9]\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="not within its range"):
        host_machine(load_catalogue(extra=file), "desktop")


def test_a_host_that_is_too_small_is_what_the_answer_says(catalogue):
    """64 GiB hold no more than 57.6 GiB of a model, and the experts of all 36 layers take 57.9."""
    report = planner.fit(
        model="gpt-oss-120b",
        gpu="rtx-4090",
        engine="llama.cpp",
        n_cpu_moe=36,
        context=2048,
        catalogue=catalogue,
    )
    assert "does not fit as set up: host memory: 57.88 GiB of weights" in report.answer.sentence


def test_layers_that_the_host_does_not_hold_are_offered_with_that(catalogue):
    asked = {"model": "llama-3.3-70b", "gpu": "rtx-4090", "gpus": 1, "engine": "llama.cpp"}
    long, short = (
        planner.fit(**asked, weight_dtype="q4_k_m", context=context, catalogue=catalogue)
        for context in (131_072, 8_192)
    )
    said = " ".join(long.answer.memory.remedies)
    assert "ngl 23), the others on the CPU (enough for the GPU, but host memory: " in said
    assert "ngl 43), the others on the CPU (enough by itself)" in " ".join(short.answer.memory.remedies)
