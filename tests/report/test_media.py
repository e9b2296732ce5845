"""The front door for media models: answers, exports and refusals; language models are asked as before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import planner
from planner.errors import DoesNotFit, InvalidInput, UnknownName, Unsupported

PRICES = {"mi355x": 2.5, "b200": 4.25}
QUESTIONS = {
    "fit": {"model": "flux.1-dev", "gpu": "mi355x,rtx-4090", "price": {"mi355x": 2.5}},
    "predict": {"model": "flux.1-dev", "gpu": "mi355x", "size": "1024x1024", "steps": 50},
    "compare": {"model": "wan2.2", "gpu": "mi355x,b200", "size": (1280, 1280), "price": PRICES},
    "plan": {"model": "hunyuan3d", "gpu": "mi355x,b200", "request_rate": 0.5, "price": PRICES},
    "breakeven": {"model": "wan2.2", "gpu": "mi355x,b200", "frames": 41, "price": PRICES},
}


@pytest.fixture(scope="module", params=QUESTIONS)
def report(request, catalogue):
    made = getattr(planner, request.param)(**QUESTIONS[request.param], catalogue=catalogue)
    assert made.reproduction.function == request.param
    return made


def test_it_exports_in_every_form_and_is_made_again(tmp_path, report, catalogue):
    record = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert re.fullmatch(r"planner\.media_\w+/1", record["schema"])
    assert list(record)[-1] == "reproduction"
    assert report.sentence
    assert report.sentence in repr(report)
    assert len(report.title) < 200
    assert all(table.rows for table in report.tables())
    assert report.assumptions().rows
    assert report.sources().rows
    assert report.to_markdown().startswith("# ")
    assert len(report.to_csv().splitlines()) > 1
    assert len(report.to_frame()) == len(report.to_records())
    assert "<p>" in report._repr_html_()
    page = report.to_html()
    assert page.count("<figure>") == len(report.figures()) == 1
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    made = planner.verify(file, catalogue=catalogue)
    assert made.same, made.to_records()[:5]


def fields(value):
    if isinstance(value, list):
        return {name for item in value for name in fields(item)}
    if not isinstance(value, dict):
        return set()
    by_gpu = ("left_out", "first_is_faster_by", "reproduction")
    return {*value, *(name for key, item in value.items() if key not in by_gpu for name in fields(item))}


def test_every_field_is_in_the_glossary(report):
    page = (Path(__file__).parents[2] / "docs/glossary.md").read_text(encoding="utf-8")
    section = page.split("## Fields of media answers")[1].split("\n## ")[0]
    assert sorted(fields(report.to_dict()) - set(re.findall(r"`(\w+)`", section))) == []


def test_a_prediction_says_how_long_and_how_sure(catalogue):
    answer = planner.predict(**QUESTIONS["predict"], price=2.5, catalogue=catalogue).answer
    record = answer.to_dict()
    assert record["unit_seconds"]["low"] < record["unit_seconds"]["value"] < record["unit_seconds"]["high"]
    assert record["units_per_hour"] == pytest.approx(3600 / record["unit_seconds"]["value"])
    assert record["usd_per_unit"] == pytest.approx(2.5 * record["unit_seconds"]["value"] / 3600)
    assert record["units_per_usd"] == pytest.approx(1 / record["usd_per_unit"])
    assert sum(part["seconds"] for part in record["parts"]) == pytest.approx(record["unit_seconds"]["value"])
    assert record["workload"]["latent_tokens"] == 4096
    assert not record["measured"]


def test_a_published_time_is_shown_as_published_unless_the_model_is_asked(catalogue):
    asked = {"model": "wan2.2", "gpu": "mi355x,b200", "size": "1280x1280", "catalogue": catalogue}
    by_source = {
        source: planner.compare(**asked, throughput=source) for source in ("auto", "measured", "simulated")
    }
    assert [one.seconds for one in by_source["auto"]] == [116.91, 168.28]
    assert [one.seconds for one in by_source["measured"]] == [116.91, 168.28]
    assert by_source["auto"].to_dict()["first_is_faster_by"]["b200-sxm"] == pytest.approx(1.439, abs=5e-4)
    assert all(one.run is None for one in by_source["simulated"])
    assert "published" in by_source["auto"].sentence
    assert any("of the published 116.91 s" in said for said in by_source["auto"].warnings)


def test_where_nobody_published_a_time_measured_refuses(catalogue):
    with pytest.raises(InvalidInput, match="nobody published"):
        planner.predict(model="wan2.2", gpu="h200", throughput="measured", catalogue=catalogue)


def test_compare_orders_by_money_where_all_have_prices(catalogue):
    asked = {"model": "flux.1-dev", "gpu": "mi355x,b200", "catalogue": catalogue}
    assert planner.compare(**asked).ranked[0].gpu == "mi355x"
    dear = planner.compare(**asked, price={"mi355x": 25, "b200": 4.25})
    assert dear.ranked[0].gpu == "b200-sxm"
    assert "the units for a dollar" in dear.sentence


def test_a_card_that_is_too_small_is_a_no_with_what_would_do(catalogue):
    report = planner.fit(model="flux.1-dev", gpu="rtx-4090", catalogue=catalogue)
    assert not report.fits
    assert not report.answered
    assert "--offload" in report.sentence
    assert report.to_dict()["unit_seconds"] is None
    assert planner.fit(model="flux.1-dev", gpu="rtx-4090", offload=True, catalogue=catalogue).fits
    with pytest.raises(DoesNotFit):
        planner.breakeven(model="flux.1-dev", gpu="rtx-4090,mi355x", catalogue=catalogue)


def test_a_plan_keeps_its_limit(catalogue):
    asked = {"model": "wan2.2", "gpu": "mi355x", "request_rate": 0.1, "catalogue": catalogue}
    assert planner.plan(**asked, slo_e2e_s=60).answered
    late = planner.plan(**asked, slo_e2e_s=1)
    assert not late.answered
    assert late.fits
    assert "within 1 s" in late.sentence
    assert len(late.to_csv().splitlines()) == 2
    assert any("longer than the limit" in said for said in late.warnings)


@pytest.mark.parametrize(
    ("function", "asked", "error", "said"),
    [
        ("predict", {"isl": 1024}, InvalidInput, "flux.1-dev makes images and has no isl"),
        ("predict", {"concurrency": 4}, InvalidInput, "has no concurrency"),
        ("fit", {"kv_dtype": "fp8"}, InvalidInput, "has no kv_dtype"),
        ("fit", {"tp": 2}, InvalidInput, "has no tp"),
        ("predict", {"gpus": 8}, InvalidInput, "is made on one GPU"),
        ("predict", {"engine": "sglang"}, InvalidInput, "run on comfyui"),
        ("predict", {"throughput": "guessed"}, UnknownName, "throughput"),
        ("compare", {"slo_ttft_s": 1.0}, InvalidInput, "has no slo_ttft_s"),
        ("plan", {}, InvalidInput, "--rate"),
        ("plan", {"request_rate": 1, "users": 5}, InvalidInput, "has no users"),
        ("breakeven", {"over": "isl", "gpu": "mi355x,b200"}, InvalidInput, "the price alone"),
        ("breakeven", {}, InvalidInput, "two accelerators"),
        ("predict", {"gpu": "gaudi3"}, Unsupported, "no stack for media models"),
        ("frontier", {"isl": 8, "osl": 8}, InvalidInput, "is a media model; fit, predict"),
    ],
)
def test_what_has_no_meaning_for_media_is_refused_in_one_line(catalogue, function, asked, error, said):
    if asked.get("gpu") == "gaudi3":
        asked = {"gpu": next(gpu.id for gpu in catalogue.gpus() if gpu.vendor not in ("AMD", "NVIDIA"))}
    with pytest.raises(error, match=said) as refused:
        getattr(planner, function)(**{"model": "flux.1-dev", "gpu": "mi355x", **asked}, catalogue=catalogue)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("llama-3.1-8b", {"size": "1024x1024"}, "size: llama-3.1-8b is a language model"),
        ("llama-3.1-8b", {"steps": 20}, "steps: llama-3.1-8b is a language model"),
        ("flux.1-de", {"size": "1024x1024"}, "nearest: flux.1-dev"),
        ("flux.1-de", {}, "media models: flux.1-dev"),
    ],
)
def test_what_has_no_meaning_for_language_models_is_refused(catalogue, model, asked, said):
    with pytest.raises((InvalidInput, UnknownName), match=said):
        planner.fit(model=model, gpu="h100", **asked, catalogue=catalogue)


def test_a_users_own_media_model_and_rates_count(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text(
        """\
media_models:
  my-video:
    name: My video model
    makes: video
    latent: {stride: 8, frame_stride: 4, patch: 2}
    components:
      - {name: transformer, role: denoiser, kind: wan,
         sizes: {hidden: 1536, ffn: 8960, layers: 30, heads: 12, channels: 64, text_width: 4096}}
      - {name: autoencoder, role: decoder, kind: video-vae,
         sizes: {width: 96, latent_channels: 16, stride: 8, layers: 2, frame_doublings: 2}}
    defaults: {width: 832, height: 480, frames: 81, steps: 50, guidance: 5.0, text_tokens: 512,
               source: my own page, date: 2026-11-30}
""",
        encoding="utf-8",
    )
    answer = planner.predict(model="my-video", gpu="h200", catalogue=own).answer
    assert answer.memory.parts[0].parameters == pytest.approx(1.42e9, rel=0.01)  # Wan2.1 T2V-1.3B
    wrong = own.with_name("wrong.yaml")
    wrong.write_text(
        own.read_text(encoding="utf-8").replace("role: decoder", "role: denoiser"), encoding="utf-8"
    )
    with pytest.raises(planner.errors.CatalogueError, match=r"wrong.yaml:\d+: media_models.my-video"):
        planner.predict(model="my-video", gpu="h200", catalogue=wrong)
