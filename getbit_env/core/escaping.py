"""Text that comes from outside, such as the name of a folder, as it is written to a page or drawn in a picture."""

from __future__ import annotations

import re


def for_markdown(text: object) -> str:
    """The text as Markdown shows it letter by letter, in a line or a cell of a table."""
    return re.sub(r"([\\`*\[\]<>|~$#])", r"\\\1", " ".join(str(text).split()))


def for_markdown_code(text: object) -> str:
    """The text between backticks, in a line or a cell of a table."""
    line = " ".join(str(text).split()).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def for_matplotlib(text: object) -> str:
    """The text without mathematics: matplotlib typesets what stands between two `$`."""
    return str(text).replace("$", r"\$")
