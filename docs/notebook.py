"""`python -m docs.notebook`: run docs/tutorial.ipynb from its beginning, and write what its cells show into it.

Cells are run here, in one namespace, without Jupyter: the tutorial uses no magic.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from getbit_env.core.files import write_text

TUTORIAL = Path(__file__).parent / "tutorial.ipynb"
RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "text/markdown": "_repr_markdown_"}


def executed(notebook: dict[str, Any], source_of: Callable[[str], str] = lambda source: source) -> dict[str, Any]:
    """A notebook after all its cells have run.

    Args:
        notebook: as JSON holds it.
        source_of: what is run of the source of a cell; the notebook keeps its own.

    Returns:
        The notebook with new outputs.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            source = source_of("".join(cell["source"]))
            cell = {**cell, "execution_count": number, "outputs": _outputs(source, namespace, number)}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What a cell shows: what it prints, and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, method in RICH.items():
            shown = getattr(value, method)() if hasattr(value, method) else None
            if shown is not None:
                data[kind] = shown.splitlines(keepends=True)
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return outputs


def main() -> None:
    """Run the command."""
    argparse.ArgumentParser(prog="python -m docs.notebook", description=__doc__, allow_abbrev=False).parse_args()
    notebook = executed(json.loads(TUTORIAL.read_text(encoding="utf-8")))
    write_text(TUTORIAL, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    sys.stderr.write(f"{TUTORIAL} is written\n")


if __name__ == "__main__":
    main()
