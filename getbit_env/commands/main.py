"""`getbit COMMAND ...`: finds the sub-command, imports it alone, and runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from getbit_env.command_line import INTERRUPTED, command_parser, leave, missing_package, need
from getbit_env.commands import COMMANDS, is_there, load
from getbit_env.core.choices import did_you_mean
from getbit_env.version import __version__

DESCRIPTION = "Play, watch, train and judge agents of Get Bit! and Sharks are Wild."
EXAMPLES = {
    "play --terminal": "play a game of four in this terminal",
    "watch counter random highest lowest": "watch four bots",
    "tournament counter random highest lowest --players 4": "find out which of them is best",
    "COMMAND --help": "what a command does, with examples",
}


def overview() -> str:
    """What `getbit --help` prints."""
    width = max(map(len, COMMANDS))
    there = {name: command for name, command in COMMANDS.items() if is_there(command.module)}
    listed = "\n".join(f"  {name:{width}}  {command.does}" for name, command in there.items())
    parser = command_parser("getbit", f"{DESCRIPTION}\n\ncommands:\n{listed}", EXAMPLES)
    parser.usage = "getbit [--help] [--version] COMMAND ..."
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    return parser.format_help()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments)] or ["--help"]
    if name in ("-h", "--help"):
        print(overview(), end="")
        return 0
    if name == "--version":
        print(__version__)
        return 0
    if name not in COMMANDS:
        known = "; getbit --help lists the commands"
        sys.stderr.write(f"getbit: error: no command {name!r:.80}{did_you_mean(name, COMMANDS) or known}\n")
        return 2
    return run(name, rest)


def run(name: str, arguments: Sequence[str]) -> int:
    """Run a command that there is; returns its exit code."""
    if not sys.flags.safe_path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # for agents named `module:attribute`; last, so that no file here shadows a package
    prog = f"getbit {name}"
    try:
        need(*COMMANDS[name].needs)
    except ValueError as error:
        sys.stderr.write(f"{prog}: error: {error}\n")
        return 1
    try:
        code = load(COMMANDS[name].module).main(arguments, prog)
        sys.stdout.flush()
    except ImportError as error:
        sys.stderr.write(f"{prog}: error: {missing_package(error)}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:  # as of `getbit variants | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return int(code or 0)


def entry() -> None:
    """Run the command that the arguments of the process name, and end the process."""
    leave(main())


if __name__ == "__main__":
    entry()
