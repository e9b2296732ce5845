"""A link brings a scenario back, and nothing in it is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue import load_catalogue
from planner.dashboard.scenario import FIELDS, OWN_MODEL, WORKED_EXAMPLE, arguments, read_link, write_link
from planner.dashboard.text import plain

BOOK = load_catalogue()

WHOLE = {
    "model": "llama-3.3-70b",
    "gpu": ("h100-sxm", "mi300x"),
    "isl": 2048,
    "osl": 300,
    "context": 65536,
    "concurrency": 12,
    "request_rate": 0.25,
    "peak_factor": 2.5,
    "profile": "daily",
    "users": 5000,
    "requests_per_user_hour": 12.5,
    "think_s": 0.0,
    "price": {"h100-sxm": 2.1, "mi300x": 1.85},
    "price_kind": "spot",
    "purchase": {"h100-sxm": 25000.0},
    "hours_a_day": 10.5,
    "capex": {"h100-sxm": 31000.0, "mi300x": 27500.0},
    "kw": {"h100-sxm": 1.7},
    "cost_of_capital": 0.12,
    "life_years": 5.0,
    "colocation": 150.0,
    "electricity": 0.08,
    "pue": 1.25,
    "resale": 0.1,
    "network_capex": 0.0,
    "spares": 0.02,
    "staff": 900.0,
    "engine": "sglang",
    "weight_dtype": "fp8",
    "kv_dtype": "fp8",
    "gpus": 16,
    "tp": 8,
    "pp": 2,
    "ngl": 0,
    "host": "epyc-9004-ddr5-4800",
    "slo_ttft_s": 1.5,
    "slo_tpot_s": 0.02,
    "slo_e2e_s": 20.0,
    "utilisation": 0.4,
    "peak_utilisation": 0.7,
    "spare": 2,
    "train_model": "gpt-3-175b",
    "train_gpus": 24,
    "train_dtype": "fp8",
    "method": "lora",
    "stack": "development",
    "train_tokens": 15e12,
    "media_model": "wan2.2-t2v-a14b",
    "media_gpu": ("b200-sxm", "rtx-4090"),
    "media_width": 1280,
    "media_height": 720,
    "media_frames": 81,
    "media_latents": 512,
    "media_octree": 256,
    "media_steps": 40,
    "media_guidance": 3.5,
    "media_weights": "fp8",
    "media_offload": "yes",
    "media_price": {"b200-sxm": 4.0},
    "media_rate": 0.5,
}


def test_every_field_is_written_to_a_link_and_read_back():
    assert set(WHOLE) == set(FIELDS)
    link = write_link(WHOLE)
    assert all(isinstance(value, str) for value in link.values())
    assert read_link(link, BOOK) == (WHOLE, [])


def test_24_numbers_of_hours_are_written_to_a_link_and_read_back():
    hours = tuple(float(hour % 7) for hour in range(24))
    link = write_link({**WHOLE, "profile": hours})
    assert link["profile"].count(",") == 23
    assert read_link(link, BOOK) == ({**WHOLE, "profile": hours}, [])


def test_without_a_link_it_is_the_worked_example():
    assert read_link({}, BOOK) == (dict(WORKED_EXAMPLE), [])
    assert read_link(write_link(WORKED_EXAMPLE), BOOK) == (dict(WORKED_EXAMPLE), [])


def test_aliases_become_ids_and_counts_may_have_suffixes():
    scenario, refused = read_link({"gpu": "H100, b200", "context": "128Ki"}, BOOK)
    assert not refused
    assert scenario["gpu"] == ("h100-sxm", "b200-sxm")
    assert scenario["context"] == 131072


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model", "/etc/passwd"),
        ("model", "../config.json"),
        ("model", "."),
        ("model", "somebody/some-model"),
        ("model", OWN_MODEL),
        ("model", "nvidia/DeepSeek-R1-FP4"),
        ("gpu", "b2000"),
        ("gpu", ""),
        ("gpu", ",".join(BOOK.gpu_ids()[:9])),
        ("isl", "-1"),
        ("isl", "1e400"),
        ("isl", "9" * 400),
        ("osl", "nan"),
        ("request_rate", "inf"),
        ("utilisation", "1.5"),
        ("profile", "1,2,3"),
        ("profile", ",".join(["1e999"] * 24)),
        ("spare", "-1"),
        ("users", "0"),
        ("price", "b200"),
        ("price", "b200=free"),
        ("price", "nothing=1"),
        ("price", "b200=1e9"),
        ("purchase", "b200=1e9"),
        ("hours_a_day", "25"),
        ("capex", "b200=0"),
        ("kw", "b200=101"),
        ("life_years", "0"),
        ("resale", "1"),
        ("pue", "0.9"),
        ("ngl", "-1"),
        ("host", "my-desk"),
        ("engine", "vllm==0.0.1"),
        ("weight_dtype", "<img src=x onerror=alert(1)>"),
        ("train_model", "kimi-k3"),
        ("train_gpus", "0"),
        ("train_tokens", "1e99"),
        ("method", "prayer"),
        ("media_model", "/etc/passwd"),
        ("media_gpu", "b2000"),
        ("media_width", "15"),
        ("media_steps", "0"),
        ("media_guidance", "nan"),
        ("media_offload", "<script>"),
        ("media_price", "b200=-1"),
        ("media_rate", "0"),
        ("price_kind", "stolen"),
        ("trace", "/etc/passwd"),
        ("catalogue", "http://example.org"),
        ("x" * 5000, "1"),
    ],
)
def test_what_a_link_may_not_say_is_refused_in_one_short_line(name, text):
    scenario, refused = read_link({name: text}, BOOK)
    assert len(refused) == 1
    assert name[:40] in refused[0]
    assert "\n" not in refused[0]
    assert len(refused[0]) < 500
    assert scenario == {key: WORKED_EXAMPLE[key] for key in ("model", "gpu", "isl", "osl")}


@given(st.dictionaries(st.sampled_from([*FIELDS, "other"]), st.text(max_size=60), max_size=6))
def test_no_link_is_an_error_and_what_is_accepted_comes_back(query):
    scenario, refused = read_link(query, BOOK)
    assert len(refused) <= len(query)
    assert read_link(write_link(scenario), BOOK) == (scenario, [])


def test_prices_of_what_is_not_asked_about_are_left_out():
    asked = arguments({"gpu": ("b300-sxm",), "price": WORKED_EXAMPLE["price"], "isl": None}, tuple(FIELDS))
    assert asked == {"gpu": "b300-sxm", "price": {"b300-sxm": 6.0}}
    assert "price" not in arguments({"gpu": ("h200-sxm",), "price": {"b300-sxm": 6.0}}, tuple(FIELDS))


def test_prices_by_the_hour_do_not_count_where_cards_are_bought():
    now = {"gpu": ("rtx-4090",), "price_kind": "spot", "purchase": {"rtx-4090": 1599.0, "rtx-3090": 700.0}}
    assert arguments(now, tuple(FIELDS)) == {"gpu": "rtx-4090", "purchase": {"rtx-4090": 1599.0}}
    assert arguments({**now, "gpu": ("h100-sxm",)}, tuple(FIELDS)) == {
        "gpu": "h100-sxm",
        "price_kind": "spot",
    }
    assert arguments(now, ("gpu", "price_kind")) == {"gpu": "rtx-4090", "price_kind": "spot"}


def test_terms_of_owning_count_where_something_is_owned():
    terms = {"capex": {"b300-sxm": 53000.0, "l4": 2500.0}, "life_years": 5.0}
    now = {"gpu": ("b300-sxm",), **terms}
    owned = {"gpu": "b300-sxm", "capex": {"b300-sxm": 53000.0}, "life_years": 5.0}
    assert arguments(now, ("gpu", *terms)) == owned
    for kind in ("own", "own,spot"):
        assert arguments({**now, "price_kind": kind}, tuple(FIELDS)) == {**owned, "price_kind": kind}
    rented = {"gpu": "b300-sxm", "price_kind": "spot"}
    assert arguments({**now, "price_kind": "spot"}, tuple(FIELDS)) == rented
    assert arguments(now, tuple(FIELDS)) == {"gpu": "b300-sxm"}


def test_a_host_counts_where_layers_are_left_to_it():
    now = {"host": "desktop-ddr5-5600"}
    assert arguments(now, tuple(FIELDS)) == {}
    assert arguments({**now, "ngl": 0}, tuple(FIELDS)) == {**now, "ngl": 0}


def test_text_is_shown_as_it_was_written():
    assert plain("a *b* <i> [c](d) $e$ :red[f] #1 `g`") == (
        r"a \*b\* \<i\> \[c\]\(d\) \$e\$ \:red\[f\] \#1 \`g\`"
    )
    assert plain("8 GPUs, 9.43 tok/s") == "8 GPUs, 9.43 tok/s"
