"""The hook of mkdocs.yml: what the site shows of files that lie outside of docs/, so that one link serves the repository and the site.

A page links to any file of the repository by its relative path. On the site such a link leads to the page that `PAGES` makes of the
file, or else to a page that shows the file.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(?<!`)(\]\()(?![a-z]+://|mailto:|#)([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".json": "json", ".md": "markdown", ".toml": "toml", ".js": "javascript", ".css": "css", ".cff": "yaml"}


def notebook(text: str) -> str:
    """A notebook as a page: its cells, and what they show."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_output(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            lines = "".join(data[kind]).splitlines()
            return '<div class="output">' + "\n".join(line for line in lines if line.strip()) + "</div>"
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    return "```text\n" + "".join(data["text/plain"]).rstrip() + "\n```"


def same(text: str) -> str:
    """A page of Markdown as it is."""
    return text


# Files of the repository that are pages of the site: the address of the page, and what makes Markdown of the file.
PAGES: dict[str, tuple[str, Callable[[str], str]]] = {
    "CHANGELOG.md": ("changelog.md", same),
    "CONTRIBUTING.md": ("contributing.md", same),
    "SECURITY.md": ("security.md", same),
    "README.md": ("readme.md", same),
    "agents/README.md": ("trained_agents.md", same),
    "docs/tutorial.ipynb": ("tutorial.md", notebook),
}


def shown_file(path: Path) -> str:
    """A page that shows a file, or what is in a folder."""
    name = path.relative_to(ROOT).as_posix()
    head = f"---\nsearch:\n  exclude: true\n---\n\n# `{name}`\n\n"
    if path.is_dir():
        inside = sorted(one.name + "/" * one.is_dir() for one in path.iterdir() if one.name[0] not in "._")
        return head + "\n".join(f"- `{one}`" for one in inside) + "\n"
    text = path.read_text(encoding="utf-8")
    fence = "`" * (3 + max(map(len, re.findall(r"`{3,}", text)), default=0))
    return f"{head}{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def links(text: str) -> list[str]:
    """The relative links of a page, without anchors."""
    return [found[2] for found in LINK.finditer(FENCE.sub("", text))]


def address(target: str) -> str | None:
    """Where the site has a file that lies outside of docs/, from the root of the site; None for a file that docs/ publishes itself."""
    if target in PAGES:
        return PAGES[target][0]
    if target.startswith("docs/") and not target.endswith((".py", ".ipynb")):
        return None
    return f"source/{target.rstrip('/')}.md"


def relinked(text: str, home: str, page: str) -> str:
    """A page whose links lead to pages of the site.

    Args:
        text: Markdown whose links are relative to `home`.
        home: the folder of the file in the repository.
        page: the address of the page from the root of the site.
    """

    def lead(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(home, found[2]))
        there = address(target) or target.removeprefix("docs/")
        return found[1] + posixpath.relpath(there, posixpath.dirname(page) or ".") + (found[3] or "") + found[4]

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(lead, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join(parts) + LINK.sub(lead, text[end:])


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that docs/ doesn't hold."""

    def add(page: str, content: str, inclusion: InclusionLevel = InclusionLevel.INCLUDED) -> None:
        made = File.generated(config, page, content=content)
        made.inclusion = inclusion
        files.append(made)

    found: dict[str, str] = {}
    for file in files.documentation_pages():
        found[f"docs/{file.src_uri}"] = file.content_string
    for name, (page, convert) in PAGES.items():
        text = convert((ROOT / name).read_text(encoding="utf-8"))
        found[name] = text
        kept = InclusionLevel.NOT_IN_NAV if name == "README.md" else InclusionLevel.INCLUDED
        add(page, relinked(text, posixpath.dirname(name), page), kept)
    targets = {
        posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) for name, text in found.items() for link in links(text)
    }
    for target in sorted(targets):
        page = address(target)
        if page and page.startswith("source/") and (ROOT / target).exists():
            add(page, shown_file(ROOT / target), InclusionLevel.NOT_IN_NAV)
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Lead the links of the pages in docs/ to pages of the site."""
    if page.file.generated_by is not None:
        return markdown
    return relinked(markdown, posixpath.join("docs", posixpath.dirname(page.file.src_uri)), page.file.src_uri)
