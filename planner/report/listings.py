"""The catalogue as tables: models, accelerators and prices, all or those that match a search."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.catalogue import Catalogue, Figure, Gpu, Model, Price
from planner.errors import Unsupported
from planner.report.table import GIB, Column, Table
from planner.units import format_count, format_significant


def _significant(value: float) -> str:
    return format_significant(value, 4)


def _first_clause(text: str) -> str:
    return re.split(r"[:/;(]", text, maxsplit=1)[0].strip()


MODEL_COLUMNS = (
    Column("id", "model"),
    Column("parameters", "params", right=True, show=format_count),
    Column("active_parameters", "active", right=True, show=format_count),
    Column("weights_gb", "weights\nGB", right=True, show=_significant),
    Column("max_context_tokens", "context\ntokens", right=True, show="{:,}".format),
    Column("config_status", "config", flexible=True),
)

GPU_COLUMNS = (
    Column("id", "GPU"),
    Column("usable_gib", "usable\nGiB", right=True, show="{:,.1f}".format),
    Column("bandwidth_tb_per_s", "memory\nTB/s", right=True, show=_significant),
    Column("bf16_dense_tflop_per_s", "BF16\nTFLOP/s", right=True, show="{:,.0f}".format),
    Column("fp8_dense_tflop_per_s", "FP8\nTFLOP/s", right=True, show="{:,.0f}".format),
    Column("fp4_dense_tflop_per_s", "FP4\nTFLOP/s", right=True, show="{:,.0f}".format),
    Column("node_gpus", "GPUs\nin a\nnode", right=True),
    Column("status", "status", show=_first_clause, flexible=True),
)

PRICE_COLUMNS = (
    Column("gpu", "GPU"),
    Column("usd_per_gpu_hour", "USD/h", right=True, show="{:,.2f}".format),
    Column("lowest_of_kind", "lowest", show=lambda lowest: "*" if lowest else ""),
    Column("kind", "kind"),
    Column("date", "date"),
    Column("provider", "provider", flexible=True),
)

SOURCE_KEYS = ("confidence", "source", "url", "note")

QUOTE_KEYS = ("gpu", "usd_per_gpu_hour", "kind", "date", "provider", *SOURCE_KEYS)


def models_table(catalogue: Catalogue, search: str | None = None) -> Table:
    """Return the models of a catalogue.

    Parameters
    ----------
    catalogue : Catalogue
        Where they stand.
    search : str, optional
        Words that must all occur in a model's id, name, repository, aliases or config status.

    Returns
    -------
    Table
        By family and size; parameters and weights as counted from the checkpoint where the catalogue has such
        a count.
    """
    models = [model for model in catalogue.models() if _matches(search, _model_texts(model))]
    models.sort(key=_family_and_size)
    return Table(MODEL_COLUMNS, tuple(_model_row(model) for model in models))


def gpus_table(catalogue: Catalogue, search: str | None = None) -> Table:
    """Return the accelerators of a catalogue.

    Parameters
    ----------
    catalogue : Catalogue
        Where they stand.
    search : str, optional
        Words that must all begin a word of its id, name, vendor, architecture, aliases or status.

    Returns
    -------
    Table
        Peaks are dense; a format that the silicon lacks is empty.
    """
    gpus = [gpu for gpu in catalogue.gpus() if _begins(search, _gpu_texts(gpu))]
    return Table(GPU_COLUMNS, tuple(_gpu_row(gpu) for gpu in gpus))


def prices_table(catalogue: Catalogue, search: str | None = None, kind: str | None = None) -> Table:
    """Return the prices of a catalogue.

    Parameters
    ----------
    catalogue : Catalogue
        Where they stand.
    search : str, optional
        Words that must all begin a word of the accelerator's id, the provider, the kind or the date, so that
        "b200" does not find GB200.
    kind : str, optional
        Only prices of this kind.

    Returns
    -------
    Table
        USD for one GPU for one hour, by accelerator, the lowest first; the lowest of each kind is marked.
    """
    prices = [price for price in catalogue.prices(kind=kind) if _begins(search, _price_texts(price))]
    prices.sort(key=lambda price: (price.gpu, price.usd_per_gpu_hour))
    lowest = {(price.gpu, price.kind): price for price in reversed(prices)}
    rows = tuple(
        {**price_row(price), "lowest_of_kind": price is lowest[price.gpu, price.kind]} for price in prices
    )
    return Table(PRICE_COLUMNS, rows, more_keys=SOURCE_KEYS)


def price_row(price: Price) -> dict[str, object]:
    """Return one price with its source, by column key.

    Parameters
    ----------
    price : Price
        A quote.

    Returns
    -------
    dict
        With the keys of `QUOTE_KEYS`.
    """
    return {
        "gpu": price.gpu,
        "usd_per_gpu_hour": price.usd_per_gpu_hour,
        "kind": price.kind.value,
        "date": f"{price.date} (read)" if price.as_of else price.date,
        "provider": price.provider,
        "confidence": price.confidence,
        "source": price.source.title,
        "url": price.source.url,
        "note": price.note,
    }


def _matches(search: str | None, texts: Iterable[str | None]) -> bool:
    together = " ".join(text for text in texts if text).casefold()
    return all(word in together for word in (search or "").casefold().split())


def _begins(search: str | None, texts: Iterable[str | None]) -> bool:
    """Return whether every word searched for begins a word: between letters and digits none begins."""
    together = " ".join(text for text in texts if text).casefold()
    words = (search or "").casefold().split()
    return all(re.search(rf"(?<![a-z0-9]){re.escape(word)}", together) for word in words)


def _family_and_size(model: Model) -> tuple[str, float, str]:
    """Return the letters with which the id begins, the parameters, and the id."""
    letters = re.match(r"[^\W\d_]*", model.id)
    return (letters[0] if letters else "", model.checks.parameters or float("inf"), model.id)


def _model_texts(model: Model) -> list[str | None]:
    names = [*model.aliases, *model.quantised_aliases]
    return [model.id, model.name, model.hf_repo, model.config_status, *names]


def _gpu_texts(gpu: Gpu) -> list[str | None]:
    return [gpu.id, gpu.name, gpu.vendor, gpu.architecture, gpu.status, *gpu.aliases]


def _price_texts(price: Price) -> list[str | None]:
    return [price.gpu, price.provider, price.kind.value, price.date]


def _model_row(model: Model) -> dict[str, object]:
    weight_bytes = model.checks.weight_bytes or model.published.tensor_bytes or model.published.file_bytes
    return {
        "id": model.id,
        "parameters": model.checks.parameters,
        "active_parameters": model.checks.active_parameters,
        "weights_gb": None if weight_bytes is None else weight_bytes / 1e9,
        "max_context_tokens": model.max_context,
        "config_status": model.config_status,
    }


def _gpu_row(gpu: Gpu) -> dict[str, object]:
    nodes = gpu.node.gpus
    return {
        "id": gpu.id,
        "usable_gib": usable_gib(gpu),
        "bandwidth_tb_per_s": _scaled(gpu.memory.bandwidth, 1e12),
        **{f"{dtype}_dense_tflop_per_s": _peak_tflop_per_s(gpu, dtype) for dtype in ("bf16", "fp8", "fp4")},
        "node_gpus": None if nodes is None else round(nodes.value),
        "status": gpu.status,
    }


def usable_gib(gpu: Gpu) -> float | None:
    """Return the memory a process really gets [GiB], or None where nobody published any.

    Parameters
    ----------
    gpu : Gpu
        The record.

    Returns
    -------
    float or None
    """
    try:
        return gpu.usable_bytes / GIB
    except Unsupported:
        return None


def _peak_tflop_per_s(gpu: Gpu, dtype: str) -> float | None:
    return _scaled(gpu.peaks.get(dtype), 1e12)


def _scaled(figure: Figure | None, unit: float) -> float | None:
    return None if figure is None else figure.value / unit
