"""Uploads: results against predictions, own catalogues and models, and files that are broken or hostile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.catalogue.documents import data_directory
from planner.cli.ui import MOST_UPLOADED_MB
from planner.dashboard import asking, uploads
from planner.errors import InvalidInput
from planner.measurement.own_file import marked
from tests.dashboard.reading import said

SHIPPED = data_directory()
DATA = Path(__file__).parents[1] / "data"
RUN = DATA / "bench_files" / "vllm" / "bench_serve_gptoss_h200_tp8_conc64.json"
LOG = DATA / "bench_samples" / "vllm_2026.log"
STATED = {"model": "gpt-oss-120b", "gpu": "h200", "gpus": "8", "tp": "8", "engine": "vllm==0.22.0"}

OURS = """\
prices:
  mi355x:
    - {provider: ours, usd_per_gpu_hour: 1.23 USD/h, kind: on-demand, source: our books, date: 2026-11-30}
"""


def folder_of(page):
    return page.session_state["folder"].name


def seen(page, offered):
    """Return everything that leaves the server: texts, tables, and the files that are offered."""
    tables = [frame.value.to_csv() for frame in (*page.dataframe, *page.table)]
    return "\n".join([said(page), *tables, *(str(button.proto) for button in page.get("download_button"))])


@pytest.fixture
def measured(opened):
    """Upload files to the page Measure, with what they do not say."""

    def measured(*files, **stated):
        page = opened("measure")
        for name, value in stated.items():
            page.text_input(f"stated {name}").set_value(value)
        page.file_uploader("results").set_value([(name, content, "text/plain") for name, content in files])
        return page.run()

    return measured


def test_results_are_read_and_held_against_predictions(measured, offered):
    page = measured((RUN.name, RUN.read_bytes()), **STATED)
    assert not page.exception
    assert not page.error
    assert "Serving points: 1 of 1 rows predicted" in said(page)
    assert len(page.get("plotly_chart")) == 1
    assert folder_of(page) not in seen(page, offered)


def test_a_calibration_to_results_is_used_by_all_pages_of_the_session(measured):
    page = measured((RUN.name, RUN.read_bytes()), **STATED)
    page.button[0].click()
    page.run()
    assert not page.exception
    assert not page.error
    assert page.session_state["own catalogue"].own[0].roots()[:2] == ["sources", "calibration"]


def test_a_calibration_says_how_far_it_was_off_and_can_be_saved(measured):
    page = measured((RUN.name, RUN.read_bytes()), **STATED)
    before = page.dataframe
    page.button[0].click()
    page.run()
    assert len(page.dataframe) > len(before)
    assert "median error" in page.dataframe[-1].value.columns
    assert "Calibration" in [button.proto.label for button in page.get("download_button")]


KERNELS = """\
system,op,dtype,m,n,k,latency_us,achieved_fraction
ours,gemm,bf16,4096,4096,4096,210.5,0.81
ours,gemm,bf16,16,4096,4096,9.25,0.4
ours,<b>launch</b>,float32,,,,6.4,
"""


def test_efficiency_points_are_shown_with_their_figure(measured):
    page = measured(("gpu.csv", KERNELS.encode()))
    assert not page.exception
    assert not page.error
    assert len(page.get("plotly_chart")) == 1
    assert [frame.value["operation"].tolist() for frame in page.dataframe] == [
        ["gemm", "gemm", "<b>launch</b>"]
    ]
    assert "&lt;b&gt;" not in page.get("plotly_chart")[0].proto.spec  # it has no share to draw


@pytest.mark.parametrize(
    "row", ["ours,gemm,bf16,x,y,z,soon,high", "ours,gemm,bf16,1,1,1,nan,0.5", "a,b,c,1e999,,,-3,inf", ""]
)
def test_efficiency_points_that_are_none_are_left_out(measured, row):
    page = measured(("gpu.csv", (KERNELS + row).encode()))
    assert not page.exception
    assert len(page.dataframe[0].value) == 3


POINTS = "model,gpu,n_gpus,isl,osl,concurrency,output_tps_per_gpu,engine\n" + "".join(
    f"llama-3.1-8b,h100,1,1000,200,{load},{60 * load},vllm\n" for load in (4, 8, 16)
)


def test_a_table_of_points_is_held_against_predictions_as_it_is(measured):
    page = measured(("ours.csv", POINTS.encode()), (RUN.name, RUN.read_bytes()), **STATED)
    assert not page.exception
    assert not page.error
    assert "Serving points: 3 of 3 rows predicted" in said(page)
    assert "Serving points: 1 of 1 rows predicted" in said(page)
    assert folder_of(page) not in seen(page, [])
    page.button[0].click()
    page.run()
    assert not page.exception
    assert not page.error
    assert page.session_state["own catalogue"].own


def test_a_table_of_too_many_points_is_refused(measured, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_ROWS", 2)
    page = measured(("ours.csv", POINTS.encode()))
    assert not page.exception
    assert len(page.error) == 1
    assert "3 rows; up to 2" in page.error[0].value.replace("\\", "")


def test_points_and_results_are_told_apart(measured):
    page = measured(("gpu.csv", KERNELS.encode()), (RUN.name, RUN.read_bytes()), **STATED)
    assert not page.exception
    assert not page.error
    assert "Serving points: 1 of 1 rows predicted" in said(page)
    assert len(page.get("plotly_chart")) == 2


def test_a_calibration_of_the_server_counts_as_it_does_on_the_command_line(opened, monkeypatch, tmp_path):
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path))
    assert not asking.shared().own
    own = tmp_path / "calibration.yaml"
    own.write_text(marked((SHIPPED / "calibration.yaml").read_text(encoding="utf-8")), encoding="utf-8")
    assert [document.path for document in asking.shared().own] == [own]
    page = opened("frontier", model="llama-3.1-8b", gpu="h100-sxm", isl="1000", osl="200")
    assert not page.exception
    assert str(tmp_path) not in seen(page, [])


def test_a_start_up_log_is_read(measured):
    page = measured((LOG.name, LOG.read_bytes()))
    assert not page.exception
    assert any("start-up" in text for text in (said(page).lower(),))


def test_what_a_file_does_not_say_is_asked_for(measured):
    page = measured((RUN.name, RUN.read_bytes()))
    assert not page.exception
    assert "1 row not imported: state --gpu" in said(page)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff\x00\xff" * 100,
        b"{" * 5000,
        b'{"a": ' * 2000,
        b"<script>alert(1)</script>",
        b"import os; os.system('touch ran')",
        b"cos\nsystem\n(S'touch ran'\ntR.",
        b"model,gpu\n=1+1,<b>h100</b>\n",
    ],
)
@pytest.mark.parametrize("name", ["results.json", "../../etc/results.csv", "log.txt", ".", "a" * 300])
def test_broken_files_have_a_line_each_and_nothing_is_run(measured, name, content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = measured((name, content), (RUN.name, RUN.read_bytes()), **STATED)
    assert not page.exception
    assert len(page.error) == 1
    assert "Serving points: 1 of 1 rows predicted" in said(page)
    assert not list(tmp_path.iterdir())
    assert folder_of(page) not in seen(page, [])


def test_names_of_files_lead_nowhere(monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "folder", lambda: tmp_path)
    for name in ("../x", "/etc/passwd", "..", ".ssh", "a\0b", "\u202e.csv", "n" * 400, ""):
        path = uploads.kept(name, b"1", under="results")
        assert path.parent == tmp_path / "results"
        assert path.read_bytes() == b"1"


def test_large_files_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(uploads, "folder", lambda: tmp_path)
    with pytest.raises(InvalidInput, match=r"x\.log: larger than 4,096 KiB"):
        uploads.kept("x.log", b" " * (MOST_UPLOADED_MB * 2**20 + 1), under="results")


def catalogue_page(opened, text):
    page = opened("catalogue")
    page.file_uploader("own catalogue file").set_value(("ours.yaml", text.encode(), "text/yaml"))
    page.run()
    next(button for button in page.button if button.label == "Use this catalogue file").click()
    return page.run()


def test_an_own_price_is_used_and_named_without_its_folder(opened, offered):
    page = catalogue_page(opened, OURS)
    assert not page.exception
    assert not page.error
    book = page.session_state["own catalogue"]
    assert "ours" in {price.provider for price in book.prices("mi355x")}
    page.text_input("search prices").set_value("ours")
    page.run()
    assert any("1.23" in frame.value.to_csv() for frame in page.dataframe)
    assert folder_of(page) not in seen(page, offered)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prices: 3",
        "gpus: {mi355x: {nothing: 1}}",
        "a: &a [*a]",
        "!!python/object/apply:os.system ['true']",
    ],
)
def test_a_wrong_catalogue_file_is_refused_in_a_line_and_changes_nothing(opened, text):
    page = catalogue_page(opened, text)
    assert not page.exception
    assert len(page.error) == 1
    assert folder_of(page) not in page.error[0].value
    assert "own catalogue" not in page.session_state or page.session_state["own catalogue"] is None


def model_page(opened, content):
    page = opened("catalogue")
    page.file_uploader("own model file").set_value(("config.json", content, "application/json"))
    page.text_input("own model name").set_value("<b>Ours</b>")
    page.run()
    next(button for button in page.button if button.label == "Use this model").click()
    return page.run()


def test_an_own_model_is_asked_about_and_its_name_is_text(opened, catalogue):
    config = json.dumps(catalogue.model("llama-3.1-8b").config).encode()
    page = model_page(opened, config)
    assert not page.exception
    assert not page.error
    assert page.session_state["scenario"]["model"] == "your config.json"
    assert page.session_state["own model"].name == "<b>Ours</b>"


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"architectures": ["Nothing"]}', b"\xff\xfe"])
def test_a_wrong_model_is_refused_in_a_line(opened, content):
    page = model_page(opened, content)
    assert not page.exception
    assert len(page.error) == 1
    assert folder_of(page) not in page.error[0].value
    assert page.session_state["scenario"]["model"] == "kimi-k3"
