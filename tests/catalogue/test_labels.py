"""What accelerators are called: shipped ones by id in capitals, a user's by the name that was given."""

from __future__ import annotations

from pathlib import Path

import planner
from planner.catalogue import load_catalogue
from planner.catalogue.labels import gpu_label, name_own
from tests.catalogue.user_catalogue import GPU, write

RENAMED = "gpus:\n  b200-sxm:\n    name: Our B200\n"
LIMITED = "gpus:\n  b200-sxm:\n    power: {tdp: {value: 700 W, source: our own, date: 2026-10}}\n"


def test_a_gpu_of_a_users_own_file_has_its_name(tmp_path: Path) -> None:
    own = write(tmp_path, GPU.replace("name: X1", "name: Acme 1"))
    report = planner.fit(model="llama-3.1-8b", gpu="x1,b200", catalogue=own)
    assert gpu_label("x1") == "Acme 1"
    assert "x Acme 1 with" in report["x1"].sentence
    assert "x B200-SXM" in report["b200-sxm"].sentence


def test_a_shipped_gpu_has_another_name_only_where_a_file_gives_one(tmp_path: Path) -> None:
    for text, label in ((RENAMED, "Our B200"), (LIMITED, "B200-SXM"), (RENAMED, "Our B200")):
        book = load_catalogue(extra=[write(tmp_path, text)])
        name_own(book.gpu("b200"), book)
        assert gpu_label("b200-sxm") == label
    shipped = load_catalogue()
    name_own(shipped.gpu("b200"), shipped)
    assert gpu_label("b200-sxm") == "B200-SXM"


def test_a_record_of_ones_own_has_its_name() -> None:
    book = load_catalogue()
    mine = book.gpu("b200").model_copy(update={"id": "acme-1", "name": "Acme 1"})
    name_own(mine, book)
    assert gpu_label("acme-1") == "Acme 1"
