"""The hook of mkdocs.yml: pages for files outside of docs/, so that one link serves the repository and the site.

A page links to any file of the repository by its relative path. On the site such a link leads to the page that `PAGES` makes of the
file, or else to a page that shows the file.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?![a-z]+://|mailto:|#)(?P<to>[^)\s#]+)(?P<part>#[^)\s]*)?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
PICTURES = (".png", ".svg", ".gif", ".jpg")
LANGUAGES = {
    ".py": "python",
    ".json": "json",
    ".md": "markdown",
    ".toml": "toml",
    ".js": "javascript",
    ".css": "css",
    ".cff": "yaml",
}


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


# Files of the repository that are pages of the site: the address of the page, and whether it stands in the navigation.
PAGES = {
    "CHANGELOG.md": ("changelog.md", True),
    "CONTRIBUTING.md": ("contributing.md", True),
    "SECURITY.md": ("security.md", True),
    "README.md": ("readme.md", False),
    "agents/README.md": ("trained_agents.md", True),
    "docs/tutorial.ipynb": ("tutorial.md", True),
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


def targets(text: str, home: str) -> set[str]:
    """The files of the repository to which a page in the folder `home` links."""
    return {posixpath.normpath(posixpath.join(home, found["to"])) for found in LINK.finditer(FENCE.sub("", text))}


def address(target: str) -> str | None:
    """Where the site has a file, from the root of the site; None for a file that docs/ publishes itself."""
    if target in PAGES:
        return PAGES[target][0]
    if target.startswith("docs/") and not target.endswith((".py", ".ipynb")):
        return None
    return f"source/{target}" if target.endswith((".md", *PICTURES)) else f"source/{target}.md"


def text_of(text: str, target: str) -> str:
    """The text of a link: the title of the page, if the text is the name of its file."""
    if target.endswith(".md") and text in (target, posixpath.basename(target)) and (ROOT / target).exists():
        found = re.search(r"^# (.+)$", (ROOT / target).read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else text
    return text


def relinked(text: str, home: str, page: str) -> str:
    """A page whose links lead to pages of the site.

    Args:
        text: Markdown whose links are relative to `home`.
        home: the folder of the file in the repository.
        page: the address of the page from the root of the site.
    """

    def lead(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(home, found["to"]))
        there = address(target) or target.removeprefix("docs/")
        to = posixpath.relpath(there, posixpath.dirname(page) or ".") + (found["part"] or "")
        return f"[{text_of(found['text'], target)}]({to})"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(lead, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join(parts) + LINK.sub(lead, text[end:])


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that docs/ doesn't hold."""
    left = {name for name, (_, in_navigation) in PAGES.items() if in_navigation}
    for file in files.documentation_pages():
        left |= targets(file.content_string, posixpath.dirname(f"docs/{file.src_uri}"))
    done: set[str] = set()
    while left - done:
        name = min(left - done)
        done.add(name)
        page, path, home = address(name), ROOT / name, posixpath.dirname(name)
        if page is None or not path.exists():
            continue  # docs/ has it, or the strict build says what is missing
        if page.endswith(PICTURES):
            files.append(File.generated(config, page, abs_src_path=str(path)))
            continue
        if name in PAGES or page == f"source/{name}":  # Markdown
            text = path.read_text(encoding="utf-8")
            text = notebook(text) if path.suffix == ".ipynb" else text
            left |= targets(text, home)
            text = relinked(text, home, page)
        else:
            text = shown_file(path)
        made = File.generated(config, page, content=text)
        made.inclusion = InclusionLevel.INCLUDED if name in PAGES and PAGES[name][1] else InclusionLevel.NOT_IN_NAV
        files.append(made)
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Lead the links of the pages in docs/ to pages of the site."""
    if page.file.generated_by is not None:
        return markdown
    return relinked(markdown, posixpath.join("docs", posixpath.dirname(page.file.src_uri)), page.file.src_uri)
