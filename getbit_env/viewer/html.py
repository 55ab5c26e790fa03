"""Self-contained pages of HTML with the viewer inside: they load nothing, and run from a file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
BOOT = """
const films = JSON.parse(document.getElementById("films").textContent);
const alone = films.length === 1;
for (const [number, film] of films.entries()) createPlayer(document.getElementById(`film-${number}`), film, {keys: alone});
"""


def script() -> str:
    """The viewer's code, a module of JavaScript that exports `createBoard` and `createPlayer`."""
    return (FOLDER / "board.js").read_text(encoding="utf-8")


def style() -> str:
    """The viewer's style sheet."""
    return (FOLDER / "board.css").read_text(encoding="utf-8")


def embedded_json(value: Any) -> str:
    """A value as JSON that can stand within `<script>`: no tag, comment or entity of HTML begins in it.

    Raises:
        ValueError: it holds a number that JSON lacks, such as NaN.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page(films: Mapping[str, Any] | Sequence[Mapping[str, Any]], title: str) -> str:
    """One self-contained page in which films can be watched.

    Args:
        films: what `film` returned, or several of them, which stand one below the other.
        title: of the page. It is escaped, as all text is.

    Returns:
        HTML. It requests nothing, and its policy (`Content-Security-Policy`) lets it run its own script alone.
    """
    several = [films] if isinstance(films, Mapping) else list(films)
    code = script() + BOOT
    sections = "\n".join(
        f'<section>{_heading(one, len(several))}<div id="film-{number}"></div></section>' for number, one in enumerate(several)
    )
    own = f"script-src {hash_of(code)}; style-src {hash_of(style())}"
    policy = f"default-src 'none'; {own}; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        "<!doctype html>\n"
        f'<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style()}</style>\n</head>\n"
        f'<body class="gb-page">\n<main>\n<h1>{html.escape(title)}</h1>\n{sections}\n</main>\n'
        "<noscript><p>The viewer needs JavaScript. The page loads nothing from elsewhere.</p></noscript>\n"
        f'<script type="application/json" id="films">{embedded_json(several)}</script>\n'
        f'<script type="module">{code}</script>\n</body>\n</html>\n'
    )


def _heading(film: Mapping[str, Any], films: int) -> str:
    name = film.get("name")
    return f"<h2>{html.escape(str(name))}</h2>" if name and films > 1 else ""


def hash_of(text: str) -> str:
    """A script or style sheet as a `Content-Security-Policy` allows it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
