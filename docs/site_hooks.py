"""What MkDocs needs to make the site of docs/: files beside docs/ that pages link to, and notebooks.

Links name files as they lie in the repository, where they work as well. On the site `docs/X` is X, any other
file that a page links to is `repository/X`, and a notebook is a page of its name. Notebooks are kept without
results and executed while the site is built: what a reader sees was computed by the version described, and no
stored number goes stale.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
KEPT = "repository/"
PLOTLY = "assets/plotly.min.js"
ALSO = ("CHANGELOG.md", "SECURITY.md", "CITATION.cff")
"""Files beside docs/ that have a place in the navigation, or are named by one that has."""

_LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files beside docs/ that go with the site, and a page for each notebook."""
    pages = [Path(page.abs_src_path) for page in files.documentation_pages() if page.abs_src_path]
    for path in _with_what_they_link_to([*pages, *(ROOT / name for name in ALSO)]):
        place = site_path(path)
        if path.suffix == ".ipynb":
            files.append(File.generated(config, place, content=executed(path)))
        elif place.startswith(KEPT):
            files.append(File.generated(config, place, content=path.read_bytes()))
    files.append(File.generated(config, PLOTLY, content=_plotly()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to where the site has the files that they name in the repository."""
    here = repository_path(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(here.parent / link[1]))
        if not target.is_file():
            return link[0]  # MkDocs says that it leads nowhere
        to = os.path.relpath(site_path(target), PurePosixPath(page.file.src_uri).parent)
        return to + (link[2] or "")

    return _LINK.sub(moved, markdown)


def site_path(path: Path) -> str:
    """Return where the site has a file of the repository."""
    parts = path.relative_to(ROOT)
    if path.suffix == ".ipynb":
        return parts.with_suffix(".md").as_posix()
    return parts.relative_to("docs").as_posix() if parts.parts[0] == "docs" else KEPT + parts.as_posix()


def repository_path(place: str) -> Path:
    """Return the file of the repository that a page of the site shows."""
    if place.startswith("notebooks/"):
        return ROOT / PurePosixPath(place).with_suffix(".ipynb")
    return ROOT / place.removeprefix(KEPT) if place.startswith(KEPT) else ROOT / "docs" / place


def _with_what_they_link_to(waiting: list[Path]) -> list[Path]:
    """Return files and all that they link to, over any number of links."""
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".md":
            links = _LINK.finditer(_FENCE.sub("", path.read_text(encoding="utf-8")))
            waiting += [Path(os.path.normpath(path.parent / link[1])) for link in links]
    return sorted(found)


def executed(path: Path) -> str:
    """Run a notebook and return it, with its results, as the Markdown of a page."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    ).execute()
    parts = [f'<script src="../{PLOTLY}"></script>']
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        parts += [shown(output) for output in cell.get("outputs", ())]
    source = f"This page is the notebook `{path.relative_to(ROOT)}`, run when the site was built."
    return "\n\n".join([*parts, source])


def shown(output: dict[str, Any]) -> str:
    """Return one result of a cell as Markdown: a figure, a table, or text."""
    if output["output_type"] == "stream":
        return _text(output["text"])
    data = output["data"]
    if "application/vnd.plotly.v1+json" in data:
        import plotly.io

        figure = plotly.io.from_json(json.dumps(data["application/vnd.plotly.v1+json"]), skip_invalid=True)
        return str(plotly.io.to_html(figure, include_plotlyjs=False, full_html=False))
    if "text/html" in data:
        return "<div>\n" + re.sub(r"\n\s*\n", "\n", data["text/html"]) + "\n</div>"
    return _text(data["text/plain"])


def _text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
