"""Every published result file is read with the values in it; expected values are typed off the files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from planner.measurement.importers.importing import ImportedFile, Names, read_file

FILES = Path(__file__).parents[2] / "data" / "bench_files"

EXACT = 1e-9
"""Cells keep twelve digits."""

# Of each file: what is stated, how many rows, which of them, and its values as printed in the file,
# with the arithmetic that brings them into the units of the tidy schema.
EXPECTED = {
    "vllm/bench_serve_gptoss_h200_tp8_conc64.json": (
        {"gpu": "h200", "n_gpus": "8"},
        1,
        0,
        {
            "model": "/home/models/openai--gpt-oss-120b",
            "date": "2026-06-10",
            "concurrency": 64,
            "request_rate": "inf",
            "isl": 590227 / 640,
            "osl": 589961 / 640,
            "output_tps_total": 3020.600465529602,
            "output_tps_per_gpu": 3020.600465529602 / 8,
            "total_tps_per_gpu": 6042.56285112482 / 8,
            "ttft_ms_mean": 595.484776516787,
            "ttft_ms_median": 330.1205465104431,
            "ttft_ms_p99": 3142.763950387016,
            "tpot_ms_mean": 19.88140895097574,
            "tpot_ms_median": 20.0533725807703,
            "tpot_ms_p99": 21.76070063246043,
            "e2e_s_median": 18.87094939898816,
            "tps_per_user": 1000 / 20.0533725807703,
            "engine": "",
        },
    ),
    "vllm/bench_serve_kimi_k3_h200x16_real_conc32.json": (
        {"gpu": "h200", "n_gpus": "16"},
        1,
        0,
        {
            "date": "2026-07-31",
            "concurrency": 32,
            "isl": 63943 / 64,
            "osl": 1000,
            "output_tps_total": 433.05240155374963,
            "total_tps_per_gpu": 865.7191158123654 / 16,
            "ttft_ms_median": 3133.4763624999996,
            "ttft_ms_p99": 52431.264577199996,
            "tpot_ms_median": 48.93121708208208,
            "e2e_s_median": 52.6042218335,
        },
    ),
    "vllm/bench_serve_kimi_k3_h200x16_pp2_conc8.json": (
        {"gpu": "h200", "n_gpus": "16"},
        1,
        0,
        {
            "concurrency": 8,
            "isl": 39992 / 40,
            "output_tps_total": 339.288720717,
            "ttft_ms_median": 861.8488105,
            "ttft_ms_p99": 1459.44243864,
            "tpot_ms_mean": 22.6989835143,
            "e2e_s_median": 23.719672204,
        },
    ),
    "vllm/bench_serve_detailed_gptoss_h200_conc4.json": (
        {"gpu": "h200", "n_gpus": "1"},
        1,
        0,
        {
            "date": "2026-06-07",
            "concurrency": 4,
            "isl": 2879718 / 400,
            "osl": 362347 / 400,
            "output_tps_total": 524.780745164788,
            "total_tps_per_gpu": 4695.425342482975,
            "tp": 1,
        },
    ),
    "vllm/bench_serve_open_loop_gptoss20b_gb10.json": (
        {"gpu": "gb10", "n_gpus": "1"},
        1,
        0,
        {
            "request_rate": 0.3,
            "concurrency": 0.2911082786992618 * 18.124770994537976,
            "isl": 823790 / 200,
            "osl": 79794 / 200,
            "output_tps_total": 116.1434699526445,
            "total_tps_per_gpu": 1315.203914500969,
            "ttft_ms_median": 764.7018559800927,
            "tpot_ms_p99": 167.91427575033882,
            "e2e_s_median": 16.080416084994795,
        },
    ),
    "vllm/bench_serve_console_conc32.txt": (
        {"model": "minimax-m2.5", "gpu": "mi355x", "n_gpus": "8"},
        1,
        0,
        {
            "concurrency": 32,
            "request_rate": "inf",
            "isl": 98504 / 200,
            "osl": 256,
            "output_tps_total": 1818.47,
            "total_tps_per_gpu": 5317.03 / 8,
            "ttft_ms_mean": 1136.12,
            "ttft_ms_median": 167.63,
            "ttft_ms_p99": 7002.83,
            "tpot_ms_mean": 12.12,
            "tpot_ms_median": 12.20,
            "tpot_ms_p99": 16.66,
            "e2e_s_median": "",
            "spec_decode": "speculative",
            "notes": "acceptance length 2.33; 200 requests",
        },
    ),
    "vllm/benchmark_serving_full_dsr1_1k1k_fp4_trt_tp4_ep1_dpa_false_conc4_b200-trt.json": (
        {"gpu": "b200", "n_gpus": "4"},
        1,
        0,
        {
            "model": "nvidia/DeepSeek-R1-0528-FP4-V2",
            "date": "2025-11-10",
            "concurrency": 4,
            "isl": 37068 / 40,
            "osl": 36709 / 40,
            "output_tps_total": 462.0550062144701,
            "output_tps_per_gpu": 462.0550062144701 / 4,
            "total_tps_per_gpu": 928.6287339204271 / 4,
            "ttft_ms_median": 83.83157999196555,
            "ttft_ms_p99": 305.32867862988496,
            "tpot_ms_median": 8.304994459070116,
            "e2e_s_median": 7.752398429001914,
        },
    ),
    "sglang/bench_serving_sharegpt_rate5.jsonl": (
        {"model": "m", "gpu": "h100", "n_gpus": "2"},
        1,
        0,
        {
            "request_rate": 5,
            "concurrency": 11.780263008980727,
            "isl": 302.118,
            "osl": 195.775,
            "output_tps_total": 957.162043188693,
            "total_tps_per_gpu": (1477.0827846460556 + 957.162043188693) / 2,
            "ttft_ms_median": 76.41966750088613,
            "tpot_ms_mean": 11.808901276564441,
            "e2e_s_median": 1.5378948565048631,
            "engine": "sglang",
        },
    ),
    "sglang/console_deepseek_r1_b200_tp8.txt": (
        {"gpu": "b200", "n_gpus": "8", "tp": "8"},
        3,
        1,
        {
            "model": "deepseek-ai/DeepSeek-R1-0528",
            "concurrency": 16,
            "isl": 39668 / 80,
            "osl": 40725 / 80,
            "output_tps_total": 795.30,
            "total_tps_per_gpu": 1569.96 / 8,
            "ttft_ms_mean": 273.51,
            "ttft_ms_median": 131.71,
            "ttft_ms_p99": 839.57,
            "tpot_ms_median": 17.46,
            "tpot_ms_p99": 28.68,
            "e2e_s_median": 9.46616,
            "engine": "sglang",
        },
    ),
    "sglang/console_kimi_k2_5_h200_tp8.txt": (
        {"gpu": "h200", "n_gpus": "8"},
        2,
        1,
        {
            "model": "moonshotai/Kimi-K2.5",
            "concurrency": 16,
            "osl": 40805 / 80,
            "output_tps_total": 258.18,
            "ttft_ms_median": 375.51,
            "tpot_ms_mean": 53.25,
            "tpot_ms_median": 57.93,
            "e2e_s_median": 23.508,
        },
    ),
    "guidellm/guidellm_phi4mini_a100_poisson16.csv": (
        {"gpu": "a100", "n_gpus": "1"},
        1,
        0,
        {
            "model": "phi-4-mini-instruct",
            "date": "2025-08-15",
            "request_rate": 16,
            "concurrency": 36.50362227744675,
            "isl": 200.054,
            "osl": 200,
            "output_tps_total": 3006.2898237390878,
            "total_tps_per_gpu": 15.03152427631682 * 400.054,
            "ttft_ms_mean": 292.7789876461029,
            "ttft_ms_median": 290.57836532592773,
            "tpot_ms_mean": 10.731725457924695,
            "tpot_ms_median": 10.688149150292478,
            "e2e_s_median": 2.41560959815979,
        },
    ),
    "guidellm/guidellm_phi4mini_a10_poisson8.csv": (
        {"gpu": "a10", "n_gpus": "1"},
        1,
        0,
        {
            "request_rate": 8,
            "concurrency": 84.86652048966091,
            "output_tps_total": 1465.3229622555461,
            "ttft_ms_median": 478.41930389404297,
            "tpot_ms_median": 53.8166767388732,
            "e2e_s_median": 11.198832273483276,
        },
    ),
    "guidellm/guidellm_report_v2_mock.json": (
        {"gpu": "h100", "n_gpus": "1"},
        2,
        0,
        {
            "model": "e2e-mock-model",
            "request_rate": 2,
            "concurrency": 0.007884656213828013,
            "isl": 71.5,
            "osl": 8,
            "output_tps_total": 3.1950675815128577,
            "total_tps_per_gpu": 0.39843430656414264 * 79.5,
            "ttft_ms_median": 11.276006698608398,
            "ttft_ms_p99": 11.686325073242188,
            "tpot_ms_mean": 1.1508464813232422,
            "e2e_s_median": 0.019269227981567383,
        },
    ),
    "aiperf/kimi_k3_h200x16_agentx-mvp-pp2-humming-c2_profile_export_aiperf.json": (
        {"gpu": "h200", "n_gpus": "16"},
        1,
        0,
        {
            "model": "/models/Kimi-K3",
            "date": "2026-08-04",
            "concurrency": 2,
            "isl": 84141.6052631579,
            "osl": 885.4736842105264,
            "output_tps_total": 36.17943264456272,
            "ttft_ms_mean": 7087.7124868684205,
            "ttft_ms_median": 6770.4624585,
            "ttft_ms_p99": 9727.312552,
            "tpot_ms_mean": 21.188086906773073,
            "tpot_ms_median": 19.269532971551627,
            "e2e_s_median": 17.638501229,
        },
    ),
    "aiperf/kimi_k3_h200x16_agentx-mvp-pp2-humming-c2_profile_export_aiperf.csv": (
        {"model": "kimi-k3", "gpu": "h200", "n_gpus": "16"},
        1,
        0,
        {
            "isl": 84141.61,
            "osl": 885.47,
            "output_tps_total": 36.18,
            "total_tps_per_gpu": 3474.11 / 16,
            "ttft_ms_mean": 7087.71,
            "ttft_ms_median": 6770.46,
            "tpot_ms_p99": 40.02,
            "e2e_s_median": 17.6385,
        },
    ),
    "aiperf/kimi_k3_h200x16_agentx-mvp-pp2-humming-c2_profile_export_head.jsonl": (
        {"model": "kimi-k3", "gpu": "h200", "n_gpus": "16"},
        1,
        0,
        {
            # The ten requests behind two of warm-up; the two in the middle are the median.
            "isl": (65822 + 67451 + 68829 + 70784 + 71329 + 71491 + 72036 + 74312 + 75944 + 79619) / 10,
            "osl": (183 + 246 + 103 + 278 + 159 + 145 + 553 + 522 + 580 + 606) / 10,
            "ttft_ms_median": (6189.480625 + 6211.775375) / 2,
            "tpot_ms_median": (19.06672481868132 + 19.06915733088083) / 2,
            "e2e_s_median": (10.80572775 + 11.459308834) / 2,
        },
    ),
    "aiperf/kimi_k2_7_mi355x_tp4_conc8_kvnone_profile_export_aiperf.json": (
        {"gpu": "mi355x", "n_gpus": "4"},
        1,
        0,
        {
            "model": "amd/Kimi-K2.7-Code-MXFP4",
            "concurrency": 8,
            "isl": 87276.83963344787,
            "osl": 825.0229095074455,
            "ttft_ms_mean": 14911.043931621993,
            "ttft_ms_median": 11957.925403,
            "total_tps_per_gpu": 21188.114388669863 / 4,
        },
    ),
    "aiperf/kimi_k2_7_mi355x_tp4_conc8_kvnone_profile_export_aiperf.csv": (
        {"model": "kimi-k2.7-code", "gpu": "mi355x", "n_gpus": "4"},
        1,
        0,
        {"output_tps_total": 198.41, "ttft_ms_p99": 62497.25, "tpot_ms_mean": 38.76, "tpot_ms_median": 34.38},
    ),
    "aiperf/kimi_k2_7_mi355x_tp4_conc8_kvnone_profile_export_console.txt": (
        {"model": "kimi-k2.7-code", "gpu": "mi355x", "n_gpus": "4"},
        1,
        0,
        {
            "isl": 87276.84,
            "osl": 825.02,
            "output_tps_total": 198.41,
            "total_tps_per_gpu": (198.41 + 20989.70) / 4,
            "ttft_ms_mean": 14911.04,
            "ttft_ms_median": 11957.93,
            "tpot_ms_median": 34.38,
            "tpot_ms_p99": 90.25,
            "e2e_s_median": 26.52366,
        },
    ),
    "inferencex/api_benchmarks_subset.json": (
        {},
        63,
        0,
        {
            "model": "DeepSeek-R1-0528",
            "gpu": "MI355X",
            "n_gpus": 4,
            "tp": 4,
            "date": "2026-06-11",
            "engine": "sglang",
            "engine_version": "v0.5.12-rocm700-mi35x",
            "weight_dtype": "fp4",
            "concurrency": 4,
            "output_tps_per_gpu": 98.9883650269406,
            "output_tps_total": 4 * 98.9883650269406,
            "total_tps_per_gpu": 198.9447984579421,
            "ttft_ms_median": 102.17383736744523,
            "ttft_ms_p99": 823.1137297395617,
            "tpot_ms_median": 9.648023886344358,
            "e2e_s_median": 9.040930901188403,
        },
    ),
    "inferencex/website_export_deepseek_r1_e2e.csv": (
        {},
        5,
        0,
        {
            "gpu": "H200",
            "n_gpus": 8,
            "date": "2026-06-02",
            "output_tps_per_gpu": 49.173854925265026,
            "total_tps_per_gpu": 98.82861137108823,
            "ttft_ms_mean": 157.76667634490876,
            "ttft_ms_median": 84.73177487030625,
            "tpot_ms_median": 9.72992689843301,
            "e2e_s_median": 9.085176336579025,
        },
    ),
    "inferencex/results_agg_dsr1_8k1k.json": (
        {"isl": "8192", "osl": "1024"},
        40,
        0,
        {
            "gpu": "H200",
            "n_gpus": 8,
            "ep": 8,
            "engine": "trtllm",
            "concurrency": 8,
            "isl": 8192,
            "output_tps_per_gpu": 51.10386769231072,
            "total_tps_per_gpu": 454.59253044288846,
            "ttft_ms_median": 386.42661459743977,
            "tpot_ms_p99": 19.993595932675398,
        },
    ),
    "inferencex/agg_kimik2.5_mi355x_8k1k_conc32.json": (
        {},
        1,
        0,
        {
            "model": "moonshotai/Kimi-K2.5",
            "gpu": "MI355X",
            "n_gpus": 8,
            "spec_decode": "mtp",
            "weight_dtype": "int4",
            "isl": 8192,
            "output_tps_per_gpu": 17.57057269511527,
            "total_tps_per_gpu": 157.12165563281164,
            "ttft_ms_median": 1816.827566944994,
            "tpot_ms_median": 230.31720387,
            "e2e_s_median": 215.19261913583614,
        },
    ),
    "inferencex/agentic_kimik2.7_mi355x_tp8_conc16.json": (
        {},
        1,
        0,
        {
            "n_gpus": 8,
            "prefix_hit": 0.95283,
            "isl": 115257.87639,
            "osl": 1063.55,
            "output_tps_total": 211.01689,
            "total_tps_per_gpu": 2884.88854,
            "ttft_ms_median": 31822.2,
            "tpot_ms_median": 65.2,
            "e2e_s_median": 64.47279,
        },
    ),
    "mlperf/v5.1_llama2-70b_mi300x8_server_mlperf_log_summary.txt": (
        {"model": "llama-2-70b", "gpu": "mi300x", "n_gpus": "8"},
        1,
        0,
        {
            "output_tps_total": 24593.77,
            "output_tps_per_gpu": 24593.77 / 8,
            "osl": 24593.77 / 81.68,
            "request_rate": 83.90,
            "ttft_ms_mean": 918.456323,
            "ttft_ms_median": 875.073063,
            "ttft_ms_p99": 1914.647645,
            "tpot_ms_mean": 144.594078,
            "tpot_ms_median": 151.044504,
            "tpot_ms_p99": 193.380124,
            "e2e_s_median": 38.401775522,
        },
    ),
    "mlperf/v5.1_llama2-70b_mi300x8_offline_mlperf_log_summary.txt": (
        {"model": "llama-2-70b", "gpu": "mi300x", "n_gpus": "8"},
        1,
        0,
        {
            "output_tps_total": 27803.9,
            "osl": 27803.9 / 92.1544,
            "request_rate": "",
            "ttft_ms_median": "",
            "e2e_s_median": "",
        },
    ),
    "mlperf/v6.0_gpt-oss-120b_mi355x8_server_mlperf_log_summary.txt": (
        {"model": "gpt-oss-120b", "gpu": "mi355x", "n_gpus": "8"},
        1,
        0,
        {
            "output_tps_total": 82136.08,
            "request_rate": 61.29,
            "ttft_ms_median": 649.078453,
            "ttft_ms_p99": 1347.438897,
            "tpot_ms_mean": 67.443317,
            "tpot_ms_median": 69.554179,
            "e2e_s_median": 92.090855721,
        },
    ),
    "mlperf/v6.0_summary_results_subset.json": (
        {},
        28,
        1,
        {
            "model": "gpt-oss-120b",
            "gpu": "NVIDIA B300-SXM-270GB",
            "n_gpus": 8,
            "n_nodes": 1,
            "weight_dtype": "fp4",
            "output_tps_total": 26005.8,
            "output_tps_per_gpu": 26005.8 / 8,
        },
    ),
}


@pytest.fixture(scope="module")
def names(catalogue) -> Names:
    return Names(catalogue)


def test_every_file_of_the_collection_is_expected() -> None:
    with (FILES / "index.csv").open(newline="") as file:
        listed = {row["file"] for row in csv.DictReader(file)}
    assert listed == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_is_read_with_the_values_in_it(name, names) -> None:
    said, count, position, values = EXPECTED[name]
    found = read_file(str(FILES / name), said, names)
    assert found.problems == []
    assert len(found.serving) == count
    cells = found.serving[position].cells
    for column, value in values.items():
        if isinstance(value, str):
            assert cells[column] == value, column
        else:
            assert float(cells[column]) == pytest.approx(value, rel=EXACT), column


def test_without_what_it_does_not_say_a_file_names_the_options(names) -> None:
    found = read_file(str(FILES / "vllm/bench_serve_gptoss_h200_tp8_conc64.json"), {}, names)
    assert not found.serving
    (line,) = found.problems
    assert "state --gpu, --gpus" in line
    assert "its name suggests --gpu h200 --tp 8" in line


def _shipped(name: str) -> dict[tuple[str, str], dict[str, str]]:
    path = Path(__file__).parents[3] / "measurements" / "serving" / f"{name}.csv"
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ttft_ms_mean"] and row["tpot_ms_mean"]]
    return {_means(row): row for row in rows}


def _means(row: dict[str, str]) -> tuple[str, str]:
    return f"{float(row['ttft_ms_mean']):.5g}", f"{float(row['tpot_ms_mean']):.5g}"


SHIPPED = {
    "inferencex/api_benchmarks_subset.json": ("inferencex_fixtures", 58),
    "inferencex/results_agg_dsr1_8k1k.json": ("inferencemax_official", 37),
    "inferencex/website_export_deepseek_r1_e2e.csv": ("inferencex_website", 4),
}
SAME = (
    "gpu",
    "n_gpus",
    "prefill_gpus",
    "decode_gpus",
    "weight_dtype",
    "concurrency",
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "ttft_ms_median",
    "ttft_ms_p99",
    "tpot_ms_median",
    "tpot_ms_p99",
    "e2e_s_median",
)


@pytest.mark.parametrize("name", SHIPPED)
def test_rows_are_those_that_were_collected_independently(name, names) -> None:
    """The shipped rows were made by other code: so rates by all GPUs, and blanks where a split is wrong."""
    family, least = SHIPPED[name]
    shipped = _shipped(family)
    found: ImportedFile = read_file(str(FILES / name), {}, names)
    both = [(row.cells, shipped[_means(row.cells)]) for row in found.serving if _means(row.cells) in shipped]
    assert len(both) == least
    for mine, theirs in both:
        for column in SAME:
            if theirs[column] and column not in ("gpu", "weight_dtype"):
                assert float(mine[column]) == pytest.approx(float(theirs[column]), rel=1e-5), column
            else:
                assert mine[column] == theirs[column], column
