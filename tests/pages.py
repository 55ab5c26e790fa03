"""The code of the pages: which blocks there are, and a runner that needs nothing of the checkout.

`python pages.py FILE` runs the pages that a JSON file holds, `{page: [block, ...]}`, each in a folder and a namespace of its own.
So the test of the wheel runs them where there is no checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ELSEWHERE = ("docs/frameworks.md",)  # its code needs OpenSpiel, and is run by tests/openspiel/test_page.py where that is
SMALLER = {"1_000_000": "32_768"}  # what a page trains for longer than a test can wait


def pages() -> list[Path]:
    """All pages of the repository with code."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "agents" / "README.md"])


def blocks_of(page: Path, language: str = "python") -> list[str]:
    """The code blocks of a page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def needs_checkout(block: str) -> bool:
    """Whether a block says that it runs in a checkout alone."""
    return bool(re.search(r"# .*\bin a checkout\b", block))


def all_blocks(*, checkout: bool) -> dict[str, list[str]]:
    """The Python of every page: all that run anywhere, or the blocks of pages that have one for a checkout, up to the last such."""
    found = {}
    for page in pages():
        blocks = blocks_of(page)
        if checkout:
            last = max((number for number, block in enumerate(blocks) if needs_checkout(block)), default=-1)
            blocks = blocks[: last + 1]
        else:
            blocks = [block for block in blocks if not needs_checkout(block)]
        if blocks and page.relative_to(ROOT).as_posix() not in ELSEWHERE:
            found[page.relative_to(ROOT).as_posix()] = blocks
    return found


def run(page: str, blocks: list[str]) -> None:
    """Run the blocks of a page one after the other, in one namespace. A line that says which error it raises has to raise it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        for long, short in SMALLER.items():
            block = block.replace(long, short)
        raises = [line for line in block.splitlines() if "# ValueError: " in line]
        exec(compile("".join(line + "\n" for line in block.splitlines() if line not in raises), page, "exec"), names)
        for line in raises:
            call, said = line.split("# ValueError: ")
            raised = None
            try:
                exec(compile(call, page, "exec"), names)
            except ValueError as error:
                raised = str(error)
            assert raised is not None, f"{page} raises no error: {call}"
            assert raised.startswith(said), f"{page}: {raised}"


def main() -> int:
    """Run the pages of a file; a folder `given` beside it holds files that pages read."""
    file = Path(sys.argv[1]).resolve()
    failed = 0
    for page, blocks in json.loads(file.read_text(encoding="utf-8")).items():
        with tempfile.TemporaryDirectory() as folder:
            if (file.parent / "given").is_dir():
                shutil.copytree(file.parent / "given", folder, dirs_exist_ok=True)
            os.chdir(folder)
            try:
                run(page, blocks)
            except Exception:
                failed += 1
                sys.stderr.write(f"{page}\n{traceback.format_exc()}\n")
            finally:
                os.chdir(file.parent)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
