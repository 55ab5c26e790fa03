"""`python -m agents.promote runs/first four_players`: make a finished run one of the agents that the package ships.

Copies the policy and its learning curve to `agents/NAME`, plays it against every bot, measures what a best response gains on it,
exactly or by a trained responder, and writes its card.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

from tqdm import tqdm

from agents import AGENTS
from getbit_env.agent_registry import shipped_agents
from getbit_env.command_line import at_least_one, no_bar
from getbit_env.core.escaping import for_markdown, for_markdown_code
from getbit_env.core.files import write_text
from getbit_env.exact import Positions, exploitability
from getbit_env.game_registry import find_variant, game_of
from getbit_env.get_bit import ID
from getbit_env.match import Estimate, MatchResult, play_match
from getbit_env.network import POLICY_FILE, TrainedPolicy, load_network

FOLDER = Path(__file__).parent
CHECKOUT = FOLDER.parent
MOST_BYTES = 1_000_000
RESPONDER_STARTS = 2400  # the default of `eval.lower_bound`
# What a run of each kind of recipe leaves: its record, with seconds in the last row, and the picture of it.
PLAYED, EXACT = ("metrics.csv", "learning.png"), ("curve.csv", "curve.png")


def gain_sentence(agent: TrainedPolicy, run: Path, timesteps: int) -> str:
    """What a best response gains on it: exactly where that can be computed, else what a trained responder gains.

    Args:
        agent: what was trained.
        run: its folder.
        timesteps: decisions of the responder, where one is needed.

    Raises:
        ValueError: the responder's command failed.
    """
    try:
        return exact_gain(agent)
    except ValueError as error:  # the game is too large, or it does not play by the position alone
        return f"Its exploitability is not known exactly: {error}. {lower_bound_of(agent, run, timesteps)}"


def exact_gain(agent: TrainedPolicy) -> str:
    """What a best response gains on it.

    Raises:
        ValueError: that can't be computed.
    """
    if (game := game_of(agent.variant)).id != ID:
        raise ValueError(f"best responses are not computed in {game}")
    result = exploitability(agent, Positions(find_variant(agent.variant.name)), name=agent.name)
    own = f"{result.own.mean():.4f} ({unit_of(agent)})"
    return (
        f"Exactly: where all other seats play this agent, a best response reaches {result.best.mean():.4f} where the "
        f"agent itself has {own}: a gain of {result.gain:.4f}, NashConv {result.nash_conv:.4f}."
    )


def lower_bound_of(agent: TrainedPolicy, run: Path, timesteps: int) -> str:
    """What a responder gains on it, and the command that trained the responder.

    Raises:
        ValueError: the command failed.
    """
    options = ["--variant", agent.variant.name, "--total-timesteps", str(timesteps)]
    command = [sys.executable, "-m", "eval.lower_bound", str(run.resolve()), *options, "--starts", str(RESPONDER_STARTS), "--json"]
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"{' '.join(command)} failed with exit code {done.returncode}")
    found = json.loads(done.stdout)
    least = f"gains at least {found['lower_bound']:.4f} (95 %), lower bound"
    gain = least if found["lower_bound"] else "was not found to gain anything"
    return (
        f"Where all other seats play this agent, a responder that was trained on {found['timesteps']:,} decisions reaches "
        f"{Estimate(**found['value'])} ({unit_of(agent)}). So a best response {gain}: "
        f"`getbit lower-bound {agent.name} {' '.join(options)}`."
    )


def unit_of(agent: TrainedPolicy) -> str:
    """What values are counted in."""
    players = agent.variant.players
    return "payoff, in -1..1" if players == 2 else f"chance of winning, equal share {1 / players:.3f}"


def card(
    agent: TrainedPolicy, results: dict[str, MatchResult], known: str, about: dict[str, str], size: int, *, exact_run: bool
) -> str:
    """The page of an agent.

    Args:
        agent: what was trained.
        results: of it in one seat against each bot in all others.
        known: a sentence on its exploitability.
        about: of the run, from its `config.json`.
        size: of the weights in bytes.
        exact_run: a recipe of `train.exact` trained it.
    """
    players = agent.variant.players
    widths = " x ".join(str(len(bias)) for _, bias in agent.layers[:-1])
    some = next(iter(results.values()))
    count = f"{int(agent.about['timesteps']):,}"
    learned = f"{count} iterations over all positions" if exact_run else f"{count} decisions of self-play"
    lines = [
        f"# {agent.name}",
        "",
        f"Plays {agent.variant} from {agent.options}; {agent.activation} layers of {widths}, {size / 1024:.0f} KiB; after "
        f"{learned}. `getbit_env.load_agent({agent.name!r})`",
        "",
        f"One seat against {players - 1} of a kind, in every rotation of the seats; wins with 95 % intervals over starts; "
        f"the equal share is {1 / players:.3f}. {some.starts} starts against each.",
        "",
        "| opponents | wins | payoff |",
        "| --- | --- | --- |",
        *(f"| {name} | {result[agent.name].win} | {result[agent.name].payoff} |" for name, result in results.items()),
        "",
        known,
        "",
        "![learning curve](learning.png)",
        "",
        "| trained with | |",
        "| --- | --- |",
        *(f"| {for_markdown(name)} | {for_markdown_code(value)} |" for name, value in about.items()),
    ]
    return "\n".join(lines) + "\n"


def promote(run: Path, name: str, starts: int, timesteps: int) -> Path:
    """Make the folder of the agent.

    Args:
        run: folder of a finished run.
        name: of the agent.
        starts: starts against each bot.
        timesteps: decisions that train a responder, where no best response can be computed.

    Returns:
        The agent's folder.

    Raises:
        ValueError: the run is not finished, the name is taken or no name, the weights are too large, or no responder
            could be trained.
    """
    exact_run = (run / EXACT[1]).exists()  # drawn at its end
    if not (exact_run or (run / "card.md").exists()):
        raise ValueError(f"{run} is no finished run: it has neither card.md nor {EXACT[1]}")
    if not (run / POLICY_FILE).exists():
        raise ValueError(f"{run} has no {POLICY_FILE}: agents that ship are networks")
    if name in AGENTS.keys() - set(shipped_agents()) or not name.isidentifier():
        raise ValueError(f"{name!r} can't be the name of a trained agent: it is no identifier, or the name of another agent")
    size = (run / POLICY_FILE).stat().st_size
    if size > MOST_BYTES:
        raise ValueError(f"{run / POLICY_FILE} has {size:,} bytes; agents that ship have at most {MOST_BYTES:,}")
    agent = load_network(run / POLICY_FILE, name)
    config = json.loads((run / "config.json").read_text())
    others = agent.variant.players - 1
    results = {}
    for bot in tqdm(game_of(agent.variant).bots, file=sys.stderr, disable=no_bar()):
        results[bot] = play_match([agent, *[bot] * others], agent.variant, starts=starts, seed=config["config"]["seed"] + 2)
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    record, picture = EXACT if exact_run else PLAYED
    for file, copy in ((POLICY_FILE, POLICY_FILE), (picture, "learning.png"), ("config.json", "config.json")):
        shutil.copy(run / file, folder / copy)
    with (run / record).open() as rows:
        seconds = float(list(csv.DictReader(rows))[-1]["seconds"])
    about = {**config["about"], "seed": str(config["config"]["seed"]), "took": f"{seconds / 60:.0f} minutes"}
    (folder / POLICY_FILE).chmod(0o644)
    write_text(folder / "card.md", card(agent, results, gain_sentence(agent, run, timesteps), about, size, exact_run=exact_run))
    return folder


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m agents.promote", description=__doc__, allow_abbrev=False)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("name", help="of the agent, as `load_agent` will know it")
    parser.add_argument("--starts", type=int, default=600, help="starts against each bot (%(default)s)")
    parser.add_argument(
        "--responder-timesteps",
        type=at_least_one,
        default=1_000_000,
        help="decisions that train a responder, where no best response can be computed (%(default)s)",
    )
    options = parser.parse_args()
    try:
        folder = promote(options.run, options.name, options.starts, options.responder_timesteps)
    except ValueError as error:
        parser.error(str(error))
    sys.stderr.write(f"{folder} is ready to commit\n")


if __name__ == "__main__":
    main()
