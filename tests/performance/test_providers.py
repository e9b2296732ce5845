"""Other predictors: one interface, both numbers side by side, and one line wherever one cannot answer.

The package that stands for AIConfigurator here has the interface that the real one documents; a long check
asks the real one (`benchmarks/providers.py`).
"""

from __future__ import annotations

import json
import sys
import textwrap

import pytest

import planner
from planner.errors import PlannerError, Unsupported
from planner.performance.providers import GROUP, aiconfigurator, provider, provider_names

FAKE = """
from types import SimpleNamespace

ASKED = []

def check_is_moe(model):
    return "DeepSeek" in model

def cli_estimate(model_path, system_name, *, backend_name="trtllm", isl=1024, batch_size=128, **more):
    ASKED.append((model_path, system_name, backend_name, dict(more, isl=isl, batch_size=batch_size)))
    if batch_size > 5000:
        raise RuntimeError("OOM: the model does not fit\\n  at all")
    tpot = {tpot} if model_path.endswith("Llama-3.1-8B") else 20.0
    return SimpleNamespace(
        ttft=100.0, tpot=tpot, tokens_per_second=64000 / tpot, backend_version="0.24.0",
        kv_cache_warning=None, moe_comm_fallbacks=(),
        raw={"gemm": "fp8_block" if check_is_moe(model_path) else "bf16"},
        per_ops_data={"mix_step": {"a": 3.0, "b": 1.0}},
        per_ops_source={"mix_step": {"a": "silicon", "b": "empirical"}},
    )
"""
SHIPPED = {"meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-32B", "deepseek-ai/DeepSeek-R1"}
LOAD = {"isl": 1000, "osl": 1000, "concurrency": 64, "throughput": "aiconfigurator"}


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Install a package of the interface; its version and what it says of the self-test may be chosen."""
    core = ("aiconfigurator_core", "aiconfigurator_core.sdk", "aiconfigurator_core.sdk.common")
    names = ("aiconfigurator", "aiconfigurator.cli", "aiconfigurator.cli.api", *core)

    def install(version="0.12.0", tpot=9.659, name="aiconfigurator", module=FAKE):
        for part in (
            "aiconfigurator",
            "aiconfigurator/cli",
            "aiconfigurator_core",
            "aiconfigurator_core/sdk",
        ):
            (tmp_path / part).mkdir()
            (tmp_path / part / "__init__.py").touch()
        (tmp_path / "aiconfigurator_core/sdk/common.py").write_text(f"DefaultHFModels = {SHIPPED}")
        (tmp_path / "aiconfigurator/cli/api.py").write_text(module.replace("{tpot}", str(tpot)))
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    for module in names:
        monkeypatch.delitem(sys.modules, module, raising=False)
    aiconfigurator.installed.cache_clear()
    aiconfigurator.self_test.cache_clear()
    yield install
    aiconfigurator.installed.cache_clear()
    aiconfigurator.self_test.cache_clear()
    for module in names:
        sys.modules.pop(module, None)


def refused(catalogue, **asked) -> str:
    """Return the one line with which a question is refused."""
    with pytest.raises(PlannerError) as error:
        planner.predict(**{"model": "qwen3-32b", "gpu": "h200", **LOAD, **asked}, catalogue=catalogue)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_both_numbers_stand_side_by_side(fake, catalogue):
    fake()
    report = planner.predict(model="qwen3-32b", gpu="h200", tp=2, **LOAD, catalogue=catalogue)
    simulated = planner.predict(
        model="qwen3-32b", gpu="h200", tp=2, **(LOAD | {"throughput": "simulated"}), catalogue=catalogue
    ).to_dict()
    record = report.to_dict()
    assert record["output_tps_total"]["value"] == pytest.approx(3200)
    assert record["output_tps_per_gpu"]["value"] == pytest.approx(1600)
    assert record["tpot_ms"]["value"] == pytest.approx(20)
    assert record["output_tps_total"]["source"] == record["source"] == "aiconfigurator"
    assert record["output_tps_total"]["low"] < 3200 < record["output_tps_total"]["high"]
    assert record["simulated"] == simulated["simulated"]
    assert record["provided"]["version"] == "aiconfigurator 0.12.0, tables of h200_sxm and vllm 0.24.0"
    assert simulated["provided"] is None
    text = report.to_text() if hasattr(report, "to_text") else report.to_markdown()
    assert "by aiconfigurator 0.12.0" in report.sentence
    assert "model says" in text
    assert any("25% of the step time from formulas" in note for note in record["provided"]["notes"])


def test_it_is_asked_what_was_asked(fake, catalogue):
    fake()
    planner.predict(
        model="qwen3-32b", gpu="h200", tp=4, dp=2, kv_dtype="fp8", prefix_hit=0.5, **LOAD, catalogue=catalogue
    )
    asked = sys.modules["aiconfigurator.cli.api"].ASKED
    assert asked[0][:3] == ("meta-llama/Meta-Llama-3.1-8B", "h200_sxm", "vllm")  # the self-test
    model, system, backend, more = asked[1]
    assert (model, system, backend) == ("Qwen/Qwen3-32B", "h200_sxm", "vllm")
    assert (more["tp_size"], more["attention_dp_size"], more["batch_size"]) == (4, 2, 32)
    assert (more["isl"], more["prefix"], more["kvcache_quant_mode"]) == (1000, 500, "fp8")
    assert "moe_tp_size" not in more
    planner.predict(model="deepseek-r1", gpu="h200", tp=8, ep=8, engine="sglang", **LOAD, catalogue=catalogue)
    assert len(asked) == 3, "the self-test runs once in a process"
    assert (asked[2][3]["moe_tp_size"], asked[2][3]["moe_ep_size"]) == (1, 8)


def test_without_the_package_one_line_names_the_extra(catalogue, monkeypatch):
    monkeypatch.setattr(aiconfigurator, "PACKAGES", ("no-such-package",))
    aiconfigurator.installed.cache_clear()
    assert refused(catalogue).endswith("not installed: pip install 'accelerator-planner[aiconfigurator]'")


@pytest.mark.parametrize("name", ["aiconfigurator", "aisimulate"])
def test_it_answers_under_both_names_and_other_versions_are_refused(fake, catalogue, name):
    fake(name=name)
    asked = {"model": "qwen3-32b", "gpu": "h200", **LOAD, "catalogue": catalogue}
    assert planner.predict(**asked).to_dict()["provided"]["version"].startswith(f"{name} 0.12.0")


def test_a_version_that_was_not_tried_is_refused(fake, catalogue):
    fake(version="0.13.1", name="aisimulate")
    assert "aisimulate 0.13.1 was not tried; aiconfigurator needs 0.12.x" in refused(catalogue)


def test_a_package_that_cannot_be_imported_is_one_line(fake, catalogue):
    fake(module="import no_such_module")
    assert "cannot be imported: No module named 'no_such_module'" in refused(catalogue)


def test_other_tables_fail_the_self_test(fake, catalogue):
    fake(tpot=11.0)
    assert "fails its self-test: a TPOT of 11.000 ms instead of 9.659" in refused(catalogue)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"gpu": "mi355x"}, "has no data of mi355x of AMD"),
        ({"gpu": "rtx-4090", "model": "llama-3.1-8b"}, "has no data of rtx-4090;"),
        ({"engine": "llama.cpp", "model": "llama-3.1-8b"}, "has no data of llama.cpp"),
        ({"model": "llama-3.3-70b"}, "ships no configuration of llama-3.3-70b"),
        ({"model": "deepseek-r1", "tp": 8}, "timed without CUDA graphs and are known to be wrong"),
        ({"model": "deepseek-r1", "tp": 16, "ep": 16, "engine": "sglang"}, "the same for H100 and H200"),
        ({"concurrency": 6000}, "has no answer: OOM: the model does not fit at all"),
        ({"concurrency": None, "request_rate": 2}, "is not asked about a rate of requests"),
        ({"throughput": "aiconfig"}, "unknown throughput 'aiconfig'; nearest: aiconfigurator"),
    ],
)
def test_what_it_cannot_answer_is_one_clear_reason(fake, catalogue, asked, reason):
    fake()
    assert reason in refused(catalogue, **asked)


def test_an_accelerator_without_data_is_left_out_and_the_others_answered(fake, catalogue):
    fake()
    report = planner.predict(model="qwen3-32b", gpu="h200,mi355x", **LOAD, catalogue=catalogue)
    assert [answer.gpu for answer in report] == ["h200-sxm"]
    assert "of AMD" in report.left_out["mi355x"]


def test_every_accelerator_and_format_it_maps_is_in_the_catalogue(catalogue):
    assert set(aiconfigurator.SYSTEMS) <= set(catalogue.ids("gpus"))
    assert all(catalogue.gpu(gpu).vendor == "NVIDIA" for gpu in aiconfigurator.SYSTEMS)


def test_a_package_may_offer_another_provider(tmp_path, monkeypatch, catalogue):
    (tmp_path / "oracle.py").write_text(
        textwrap.dedent(
            """
            from planner.performance.intervals import Estimate
            from planner.performance.providers import Provided

            class Oracle:
                name = "oracle"

                def figures(self, point):
                    said = Estimate(7.0, 6.0, 8.0, "provided: oracle")
                    return Provided("oracle", "oracle 1", {"tpot_ms": said})
            """
        )
    )
    info = tmp_path / "oracle-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: oracle\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\noracle = oracle:Oracle\nbroken = oracle:Missing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert provider_names() == ("aiconfigurator", "oracle", "broken")
    asked = {"model": "qwen3-32b", "gpu": "mi355x", **LOAD, "catalogue": catalogue}
    record = planner.predict(**asked | {"throughput": "oracle"}).to_dict()
    assert record["tpot_ms"] == {
        "value": 7.0,
        "low": 6.0,
        "high": 8.0,
        "source": "oracle",
        "provenance": "provided: oracle",
    }
    assert record["ttft_ms"]["source"] == "simulated"  # what it does not say stays the model's
    json.dumps(record)
    with pytest.raises(Unsupported, match="throughput broken: oracle:Missing cannot be imported"):
        provider("broken")
    sys.modules.pop("oracle")
