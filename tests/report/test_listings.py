"""The catalogue as tables and as single entries."""

from __future__ import annotations

import pytest

from planner.report.details import gpu_detail, model_detail, price_detail
from planner.report.listings import gpus_table, models_table, prices_table


def ids(table, key="id"):
    return [row[key] for row in table.rows]


def test_every_entry_is_listed(catalogue):
    assert sorted(ids(models_table(catalogue))) == sorted(catalogue.model_ids())
    assert ids(gpus_table(catalogue)) == catalogue.gpu_ids()
    assert len(prices_table(catalogue).rows) == len(catalogue.prices()) == 212


def test_a_search_needs_every_word_in_name_alias_or_status(catalogue):
    assert "kimi-k3" in ids(models_table(catalogue, "moonshotai K3"))
    assert set(ids(models_table(catalogue, "recalled"))) == {
        model.id for model in catalogue.models() if model.config_status == "recalled"
    }
    assert "mi355x" in ids(gpus_table(catalogue, "amd cdna4"))
    assert not {"b200-sxm", "h100-sxm"} & set(ids(gpus_table(catalogue, "amd")))
    assert models_table(catalogue, "no such model").rows == ()


def test_models_show_how_their_configuration_is_known(catalogue):
    shown = {row["id"]: row["config_status"] for row in models_table(catalogue).rows}
    assert shown["kimi-k3"] == "published"
    assert {"published", "recalled", "inferred", "partly inferred"} == set(shown.values())


def test_formats_that_silicon_lacks_are_empty(catalogue):
    rows = {row["id"]: row for row in gpus_table(catalogue).rows}
    assert rows["h100-sxm"]["fp4_dense_tflop_per_s"] is None
    assert rows["mi300x"]["fp4_dense_tflop_per_s"] is None
    assert rows["b200-sxm"]["fp4_dense_tflop_per_s"] == pytest.approx(9000)


def test_an_accelerator_without_published_memory_is_listed_and_shown(catalogue):
    rows = {row["id"]: row for row in gpus_table(catalogue).rows}
    assert rows["b100"]["usable_gib"] is None
    assert dict(gpu_detail(catalogue.gpu("b100"), catalogue).facts)["usable memory"] == "not known"


def test_prices_are_filtered_by_kind(catalogue):
    rows = prices_table(catalogue, "b200-sxm", "spot").rows
    assert rows
    assert {row["kind"] for row in rows} == {"spot"}


def test_a_model_in_full_is_computed_from_its_blocks(catalogue):
    detail = model_detail(catalogue.model("kimi-k3"), catalogue)
    computed = detail.to_dict()["computed"]
    assert computed["parameters"] == 2_779_931_837_184
    assert computed["weights_bytes"] == 1_560_860_324_864
    assert computed["kv_bytes_per_token_bf16"] == 27_648
    assert computed["state_bytes_per_request"] == 449_372_160
    facts = dict(detail.facts)
    assert facts["parameters"] == "2.78 T, 104 B active"
    assert facts["weights"] == "1,560.9 GB (1,453.7 GiB) as the checkpoint has them"
    assert facts["config"] == "published"
    assert "Sources" in dict(detail.lines)


def test_a_model_says_why_its_configuration_is_not_published(catalogue):
    recalled = next(model for model in catalogue.models() if model.config_status == "recalled")
    assert dict(model_detail(recalled, catalogue).facts)["config"].startswith("recalled")


def test_a_model_without_blocks_is_shown_with_what_is_missing(catalogue):
    model = catalogue.model("llama-3.1-8b")
    strange = model.model_copy(update={"config": {"architectures": ["NoSuchForCausalLM"]}})
    facts = dict(model_detail(strange, catalogue).facts)
    assert "NoSuchForCausalLM" in facts["not supported"]


def test_every_figure_of_an_accelerator_has_a_source_that_is_listed(catalogue):
    for gpu in catalogue.gpus():
        detail = gpu_detail(gpu, catalogue)
        marks = {mark for mark, _ in detail.sources}
        for row in detail.tables[0].rows:
            assert row["source"] in marks
            assert row["date"]
            assert row["confidence"]


def test_marketed_memory_is_shown_in_the_unit_it_is_sold_in(catalogue):
    rows = gpu_detail(catalogue.gpu("b200"), catalogue).tables[0].rows
    shown = {row["figure"]: row["value"] for row in rows if row["figure"] != "  or"}
    assert shown["memory, marketed"] == "180 GB"
    assert shown["memory, driver"] == "179.06 GiB"


def test_prices_of_one_accelerator_keep_source_date_and_doubt(catalogue):
    detail = price_detail(catalogue.gpu("mi355x"), catalogue)
    assert len(detail.to_dict()["prices"]) == len(detail.tables[0].rows) == 6
    assert all(row["source"] and row["date"] for row in detail.to_dict()["prices"])
    assumed = [row for row in detail.tables[0].rows if row["kind"] == "assumption"]
    assert [row["usd_per_gpu_hour"] for row in assumed] == [2.5]
    assert assumed[0]["note"].startswith("assumed")
    assert price_detail(catalogue.gpu("arc-pro-b50"), catalogue).tables == ()


def test_models_stand_by_family_and_size(catalogue):
    rows = models_table(catalogue, "deepseek").rows
    listed = [row["id"] for row in models_table(catalogue).rows]
    family = [name for name in listed if name.startswith("deepseek")]
    first = listed.index(family[0])
    assert listed[first : first + len(family)] == family
    sizes = [row["parameters"] for row in rows if row["id"].startswith("deepseek") and row["parameters"]]
    assert sizes == sorted(sizes)


def test_prices_stand_by_accelerator_and_price_with_the_lowest_of_each_kind_marked(catalogue):
    rows = prices_table(catalogue).rows
    keys = [(row["gpu"], row["usd_per_gpu_hour"]) for row in rows]
    assert keys == sorted(keys)
    for gpu, kind in {(row["gpu"], row["kind"]) for row in rows}:
        same = [row for row in rows if (row["gpu"], row["kind"]) == (gpu, kind)]
        marked = [row["usd_per_gpu_hour"] for row in same if row["lowest_of_kind"]]
        assert marked == [min(row["usd_per_gpu_hour"] for row in same)]


def test_a_word_matches_where_a_word_begins(catalogue):
    assert set(ids(prices_table(catalogue, "b200"), "gpu")) == {"b200-sxm"}
    assert "gb200-nvl72" in ids(prices_table(catalogue, "gb200"), "gpu")


def test_prices_as_csv_name_their_sources(catalogue):
    header, first, *_ = prices_table(catalogue).to_csv().splitlines()
    assert header.endswith(",provider,confidence,source,url,note")
    assert all(row["source"] for row in prices_table(catalogue).to_records())
    assert first


def test_integer_peaks_are_operations_and_not_flops(catalogue):
    for gpu in catalogue.gpus():
        for row in gpu_detail(gpu, catalogue).tables[0].rows:
            if row["figure"].startswith("peak int"):
                assert row["value"].endswith(" TOPS")
            elif row["figure"].startswith("peak"):
                assert row["value"].endswith("FLOPS")
    rows = gpu_detail(catalogue.gpu("mi355x"), catalogue).tables[0].rows
    assert {row["figure"]: row["value"] for row in rows}["peak int8"] == "5,000 TOPS"


def test_a_marketed_number_that_counts_gib_is_explained(catalogue):
    def said(gpu):
        return dict(gpu_detail(catalogue.gpu(gpu), catalogue).facts)["GB and GiB"]

    assert said("mi355x").startswith("sold as 288 GB, but the driver reports 287.98 GiB, which is 309.2 GB")
    assert said("l40s") == ""
