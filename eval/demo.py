"""`python -m eval.demo`: self-play for about two minutes, a tournament against the bots, pictures of both.

Runs the commands that it prints. After an interruption it goes on where it was; a finished run is only judged again.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from getbit_env.command_line import need
from getbit_env.match import play_tournament

STARTS = 1200
BOTS = ("random", "highest", "lowest", "counter")


def run(*command: str) -> None:
    """Run a module's command, after printing it; end this program if it fails."""
    print(f"\n$ python -m {shlex.join(command)}", flush=True)
    code = subprocess.run([sys.executable, "-m", *command], check=False).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m eval.demo", description=__doc__, allow_abbrev=False)
    parser.add_argument("--total-timesteps", type=int, default=5_000_000, help="decisions to train on (%(default)s)")
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), metavar="FOLDER", help="of the run (%(default)s)")
    options = parser.parse_args()
    folder = options.output
    try:
        need("stable_baselines3", "sb3_contrib", "torch", "tqdm", "matplotlib")
    except ValueError as error:
        parser.error(str(error))
    if not (folder / "card.md").exists():
        begun = (folder / "config.json").exists()
        new = ["--players", "4", "--total-timesteps", str(options.total_timesteps), "--output", str(folder)]
        chosen = ["--resume", str(folder)] if begun else new
        run("train.selfplay", *chosen)
    run("eval.tournament", str(folder), *BOTS, "--starts", str(STARTS), "--output", str(folder / "tournament"))

    agent = str(folder)  # the matches were just played: this only reads them
    result = play_tournament([agent, *BOTS], starts=STARTS, path=folder / "tournament" / "tournament.json")
    random, lowest = (result.match(agent, name)[agent].win for name in ("random", "lowest"))
    passed = random.mean >= 0.33 and (lowest.low if lowest.low is not None else lowest.mean) > 0.25
    print(f"""
The agent wins {random} of its games against three random players, and {lowest} against three that play their lowest card;
the equal share is 0.25, and the best that anybody can do against three random players is 0.693.

    {folder}/card.md                     what was trained, how, and how strong it is
    {folder}/learning.png                its win rates while it learned
    {folder}/tournament/tournament.png   the table above as a picture
    {folder}/policy.safetensors          the agent: getbit_env.load_agent("{folder}")

To try next:
    getbit train --help                                  any number of players, every variant
    getbit exploitability {folder} --players 4           how far it is from unbeatable, exactly
    getbit tournament {folder} random my_module:MyAgent  your own agent beside it (README)""")
    if not passed:
        sys.exit("the agent is weaker than it should be: at least 0.33 against random and surely over 0.25 against lowest")


if __name__ == "__main__":
    main()
