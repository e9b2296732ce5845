"""The page on kernels shows what the data say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_page_are_made_from_the_data() -> None:
    page = (DOCS / "kernels.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(DOCS / "make_kernels.py"))["rewritten"](page)
    assert made == page, "run: python docs/make_kernels.py"


def test_the_example_of_the_page_runs() -> None:
    page = (DOCS / "kernels.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(example, "kernels.md", "exec"), {})
