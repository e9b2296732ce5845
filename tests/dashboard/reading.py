"""What a page shows and offers, as tests read it."""

from __future__ import annotations

import json


def answers(offered):
    """Return the answers that a page offers as JSON."""
    return [json.loads(how()) for name, how in offered if name.endswith(".json")]


def said(page):
    """Return all text that a page shows outside of tables."""
    kinds = (page.markdown, page.caption, page.info, page.warning, page.error, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")
