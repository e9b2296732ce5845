"""Validation of start-up logs: small tables with known answers, and what is written and counted."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.catalogue import Catalogue
from planner.errors import InvalidInput
from planner.measurement.comparison import ErrorScore, Pair, VerdictScore
from planner.measurement.quantities import MIB, QUANTITIES
from planner.measurement.setups import GIB
from planner.measurement.validate import (
    GROUPS,
    ValidationResult,
    validate_startup_logs,
    write_predictions,
)

LLAMA = {
    "engine": "vLLM",
    "engine_version": "0.19.0",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "attention": "gqa",
    "weight_quant": "bf16",
    "kv_cache_dtype": "auto",
    "gpu": "H100 SXM",
    "n_gpus": "1",
    "tp": "1",
    "max_model_len": "8192",
    "mem_fraction": "0.95",
    "max_num_seqs": "1024",
    "max_num_batched_tokens": "8192",
    "weights_gib": "14.99",
    "avail_kv_gib": "58.11",
    "kv_blocks": "29751",
    "kv_tokens": "476016",
    "max_concurrency": "58.11",
    "outcome": "fits",
    "source": "somebody/results:a.log",
}
LATENT = {
    "engine": "llama.cpp",
    "model": "deepseek-ai/DeepSeek-V3",
    "kv_cache_dtype": "f16",
    "max_model_len": "32768",
    "gpu": "",
    "tp": "",
    "kv_size_mib": "2196.0",
    "outcome": "fits",
}
UNSTATED = {"engine": "vLLM", "model": "not stated (MTP)", "gpu": "H100 SXM", "tp": "1", "outcome": "fits"}
UNEVEN = {**LLAMA, "tp": "3", "n_gpus": "3"}
UNREADABLE = {**LLAMA, "weights_gib": "about 15"}
ROWS = (LLAMA, LATENT, UNSTATED, UNEVEN, UNREADABLE)


def written(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    columns = list(dict.fromkeys(["note", *(column for row in rows for column in row)]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def validated(tmp_path: Path, catalogue: Catalogue, *rows: dict[str, str]) -> ValidationResult:
    return validate_startup_logs(written(tmp_path / "logs.csv", rows), catalogue)


def pairs(tmp_path: Path, catalogue: Catalogue, row: dict[str, str]) -> dict[str, Pair]:
    result = validated(tmp_path, catalogue, row)
    assert not result.skipped_rows
    return result.predictions[0].pairs


def test_each_row_is_predicted_or_named(tmp_path: Path, catalogue: Catalogue) -> None:
    result = validated(tmp_path, catalogue, *ROWS)
    assert (result.rows, result.predicted) == (5, 2)
    assert result.skipped == {"model not stated": 1, "refused by planner": 1, "unreadable value": 1}
    assert [row.line for row in result.skipped_rows] == [4, 5, 6]
    assert result.predicted + len(result.skipped_rows) == result.rows
    assert (result.stated, result.stated_and_predicted) == (2, 1)
    assert "TP" in result.skipped_rows[1].detail
    assert result.skipped_rows[2].detail == "weights_gib is 'about 15'; a number is needed"


def test_a_logged_pool_is_cut_into_the_blocks_that_vllm_makes_of_it(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    found = pairs(tmp_path, catalogue, LLAMA)
    # A block is 16 x 32 layers x 2 x 8 heads x 128 x 2 bytes = 2 MiB; a request of 8,192 tokens takes 512.
    blocks = int(58.11 * GIB // (2 * MIB))
    assert found["kv_blocks_given_pool"] == Pair(29751, blocks)
    assert found["kv_tokens_given_pool"] == Pair(476016, blocks * 16)
    assert found["max_concurrency_given_pool"].predicted == pytest.approx(blocks / 512)
    assert found["weights_gib"].predicted == pytest.approx(14.96, abs=0.05)
    assert found["kv_pool_gib"].predicted == pytest.approx(58.11, rel=0.02)


@pytest.mark.parametrize(("dtype", "mib"), [("f16", 2196.0), ("q8_0", 1166.625)])
def test_llama_cpp_reserves_its_context_whatever_the_accelerator(
    tmp_path: Path, catalogue: Catalogue, dtype: str, mib: float
) -> None:
    row = {**LATENT, "kv_cache_dtype": dtype, "kv_size_mib": str(mib)}
    found = pairs(tmp_path, catalogue, row)
    assert found == {"kv_pool_gib": Pair(mib * MIB / GIB, pytest.approx(mib * MIB / GIB, rel=1e-9))}


def test_sequences_of_llama_cpp_share_the_logged_cells(tmp_path: Path, catalogue: Catalogue) -> None:
    row = {
        "engine": "llama.cpp",
        "model": "Qwen/Qwen3.6-27B",
        "gpu": "",
        "tp": "",
        "kv_cache_dtype": "f16",
        "max_model_len": "262144",
        "max_num_seqs": "4",
        "kv_size_mib": "16384",
        "recurrent_mib": "598.5",
        "outcome": "fits",
    }
    found = pairs(tmp_path, catalogue, row)["kv_pool_gib"]
    assert found.predicted == pytest.approx((16384 + 598.5) * MIB / GIB, rel=1e-9)


def test_a_log_of_one_rank_is_compared_with_one_rank(tmp_path: Path, catalogue: Catalogue) -> None:
    row = {**LLAMA, "n_gpus": "8", "dp": "8"}
    one = pairs(tmp_path, catalogue, LLAMA)["max_concurrency"].predicted
    assert pairs(tmp_path, catalogue, row)["max_concurrency"].predicted == pytest.approx(one, rel=0.05)
    summed = {**row, "max_concurrency": "464.88", "notes": "464.88 is the sum of 8 ranks"}
    assert pairs(tmp_path, catalogue, summed)["max_concurrency"].measured == pytest.approx(58.11)


def test_what_cannot_be_compared_is_left_out_and_said(tmp_path: Path, catalogue: Catalogue) -> None:
    fooled = validated(tmp_path, catalogue, {**LLAMA, "non_torch_gib": "-3.58"}).predictions[0]
    assert "kv_pool_gib" not in fooled.pairs
    assert "weights_gib" in fooled.pairs
    assert any("profiler was fooled" in remark for remark in fooled.remarks)
    staged = validated(tmp_path, catalogue, {**LLAMA, "n_gpus": "2", "pp": "2"}).predictions[0]
    assert "kv_tokens_given_pool" not in staged.pairs
    assert any("pipeline stage" in remark for remark in staged.remarks)
    wrong = {**LLAMA, "notes": "concurrency under-reported by this build"}
    assert "max_concurrency" not in pairs(tmp_path, catalogue, wrong)


def test_tokens_are_compared_without_a_context_only_where_it_does_not_matter(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    open_ended = {**LLAMA, "engine_version": "0.22.0", "max_model_len": ""}
    found = pairs(tmp_path, catalogue, open_ended)
    assert "kv_tokens_given_pool" in found
    assert "max_concurrency_given_pool" not in found
    windows = {**open_ended, "model": "google/gemma-3-12b-it"}
    assert "kv_tokens_given_pool" not in pairs(tmp_path, catalogue, windows)
    assert "kv_tokens_given_pool" in pairs(tmp_path, catalogue, {**windows, "max_model_len": "8192"})


def test_a_verdict_that_depends_on_an_unstated_context_is_not_scored(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    row = {
        **LLAMA,
        "gpu": "RTX 3090",
        "total_gpu_gib": "23.58",
        "mem_fraction": "0.9",
        "engine_version": "0.22.0",
    }
    # 131,072 tokens, the model's maximum, take 16 GiB and cannot fit; 2,048 can.
    unknown = validated(tmp_path, catalogue, {**row, "max_model_len": ""}).predictions[0]
    assert unknown.verdict is None
    assert any("depends on the context" in remark for remark in unknown.remarks)
    longest = validated(tmp_path, catalogue, {**row, "max_model_len": "131072"}).predictions[0]
    assert longest.verdict == (True, False)
    short = validated(tmp_path, catalogue, {**row, "max_model_len": "2048"}).predictions[0]
    assert short.verdict == (True, True)


def test_without_an_accelerator_only_the_logged_pool_is_checked(tmp_path: Path, catalogue: Catalogue) -> None:
    made = validated(tmp_path, catalogue, {**LLAMA, "gpu": "not stated"}).predictions[0]
    assert set(made.pairs) == {"kv_tokens_given_pool", "kv_blocks_given_pool", "max_concurrency_given_pool"}
    assert made.verdict is None


def test_only_weights_are_checked_where_the_kv_dtype_is_unknown(tmp_path: Path, catalogue: Catalogue) -> None:
    made = validated(tmp_path, catalogue, {**LLAMA, "kv_cache_dtype": "tq4"}).predictions[0]
    assert set(made.pairs) == {"weights_gib"}
    assert made.verdict is None


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        ("fits", (True, True)),
        ("fits_barely", (True, True)),
        ("oom", (False, True)),
        ("kv_too_small", (False, True)),
        ("no_kv_memory", (False, True)),
        ("free_memory_too_low", None),
        ("max_num_seqs_over_blocks", (False, True)),
        ("runtime_oom", None),
        ("weights only", None),
        ("", None),
    ],
)
def test_outcomes(
    tmp_path: Path, catalogue: Catalogue, outcome: str, verdict: tuple[bool, bool] | None
) -> None:
    assert validated(tmp_path, catalogue, {**LLAMA, "outcome": outcome}).predictions[0].verdict == verdict


def test_a_hybrid_with_fewer_blocks_than_sequences_does_not_start(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    row = {
        "engine": "vLLM",
        "engine_version": "0.22.0",
        "model": "Qwen/Qwen3.6-27B-FP8",
        "weight_quant": "fp8",
        "gpu": "H100 SXM",
        "tp": "1",
        "max_model_len": "32768",
        "mem_fraction": "0.9",
    }
    over = validated(
        tmp_path, catalogue, {**row, "max_num_seqs": "4096", "outcome": "max_num_seqs_over_blocks"}
    )
    assert over.predictions[0].verdict == (False, False)
    under = validated(tmp_path, catalogue, {**row, "max_num_seqs": "64", "outcome": "fits"})
    assert under.predictions[0].verdict == (True, True)


def test_weights_that_the_log_contradicts_are_not_stated(tmp_path: Path, catalogue: Catalogue) -> None:
    row = {**LLAMA, "model": "meta-llama/Llama-3.1-70B-Instruct", "weight_quant": "", "gpu": "L4", "tp": "1"}
    made = validated(tmp_path, catalogue, row).predictions[0]
    assert "weights_gib" not in made.pairs
    assert made.verdict is None
    assert any(remark.startswith("weight format not stated") for remark in made.remarks)
    stated = validated(tmp_path, catalogue, {**row, "weight_quant": "bf16"}).predictions[0]
    assert stated.verdict == (True, False)


def test_the_dictionary_is_plain_and_complete(tmp_path: Path, catalogue: Catalogue) -> None:
    result = validated(tmp_path, catalogue, *ROWS)
    answer = result.to_dict()
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert answer["schema"] == "planner.validate/1"
    assert {"rows", "predicted", "skipped", "quantities"} <= set(answer)
    weights = answer["quantities"]["weights_gib"]
    assert {"n", "median_ape", "mean_ape", "within_20pct", "bias", "coverage_80", "by"} <= set(weights)
    assert {"gpu", "vendor", "model", "engine", "source"} <= set(weights["by"]) == set(GROUPS)
    assert set(weights["by"]["vendor"]) == {"NVIDIA"}
    assert weights["by"]["source"]["somebody/results"]["n"] == 1
    assert "accuracy" in answer["quantities"]["fits"]


def test_scores_by_group_add_up(tmp_path: Path, catalogue: Catalogue) -> None:
    result = validated(tmp_path, catalogue, LLAMA, {**LLAMA, "gpu": "H200 SXM"}, {**LLAMA, "outcome": "oom"})
    whole = result.scores()
    for group in GROUPS:
        parts = result.scores_by(group).values()
        assert sum(part["weights_gib"].n for part in parts) == whole["weights_gib"].n == 3
    fits = whole["fits"]
    assert isinstance(fits, VerdictScore)
    assert fits.fails_but_accepted == 1
    with pytest.raises(InvalidInput, match="unknown group 'colour'"):
        result.scores_by("colour")


def test_rows_are_written_with_their_predictions(tmp_path: Path, catalogue: Catalogue) -> None:
    result = validated(tmp_path, catalogue, *ROWS)
    target = tmp_path / "out.csv"
    target.write_text("old")
    write_predictions(result, target)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    assert rows[0]["model"] == LLAMA["model"]
    assert float(rows[0]["predicted_weights_gib"]) == pytest.approx(
        result.predictions[0].pairs["weights_gib"].predicted
    )
    assert rows[0]["predicted_fits"] == "True"
    assert rows[2]["skipped"] == "model not stated"
    assert set(rows[0]) >= {f"predicted_{name}" for name in QUANTITIES}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs.csv", "out.csv"]


def test_written_rows_can_be_validated_again(tmp_path: Path, catalogue: Catalogue) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    result = validated(tmp_path, catalogue, *ROWS)
    write_predictions(result, first)
    again = validate_startup_logs(first, catalogue)
    assert again.scores() == result.scores()
    write_predictions(again, second)
    assert second.read_bytes() == first.read_bytes()


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, catalogue: Catalogue) -> None:
    result = validated(tmp_path, catalogue, LLAMA)
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_predictions(result, tmp_path / "missing" / "out.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_predictions(result, tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "logs.csv"]


def test_quantities_that_nothing_was_logged_for_have_no_score(tmp_path: Path, catalogue: Catalogue) -> None:
    scores = validated(tmp_path, catalogue, LATENT).scores()
    assert set(scores) == {"kv_pool_gib"}
    assert isinstance(scores["kv_pool_gib"], ErrorScore)


def test_a_notebook_shows_errors_and_takes_rows_as_a_frame(tmp_path: Path, catalogue: Catalogue) -> None:
    pandas = pytest.importorskip("pandas")
    result = validated(tmp_path, catalogue, *ROWS)
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == result.rows
    assert frame["predicted_weights_gib"].dtype == float
    assert frame["skipped"].notna().sum() == len(result.skipped_rows)
    html = result._repr_html_()
    assert f"{result.predicted} of {result.rows} rows predicted" in html
    assert html.count("<tr>") == 1 + len(result.scores())
    assert "<td>weights_gib</td>" in html
