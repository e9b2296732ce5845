"""What `planner sweep --out` says of its rows beside the file."""

from __future__ import annotations

WORDS = ("sweep", "--model", "llama-3.1-8b", "--gpu", "h100,b200", "--isl", "1000", "--osl", "100")


def test_rows_without_price_or_answer_are_counted_by_reason(planner, tmp_path):
    rows = str(tmp_path / "rows.csv")
    ran = planner(*WORDS, "--price", "h100=2", "--tp", "1,3", "--out", rows)
    assert (ran.code, ran.out) == (0, "")
    first, *reasons = ran.err.splitlines()
    assert first.startswith(f"{rows}: 4 rows, 2 with figures; 2 ")
    assert " - 1 row: no price of b200-sxm was given" in reasons
    assert len(reasons) > 1
