"""Exact best responses wave by wave over files, for games that are too large for one machine's memory, on one machine or many.

The work is cut into *parts*: so many positions of one group (`groups`), next to each other. What is computed of a part depends on
its own files and those of the few groups to which it leads, and is a file. So any executor (`core.units`) does parts, in any order
within their wave, and does them again where a machine is lost. Files depend on neither the executor nor its workers.

Three passes go over the waves. The first finds the positions, the first rounds first; it does not ask the agent, so all agents of
a folder share it. The second finds best responses, the last rounds first, as `best_response.exploitability` does, and with the same
kernel. The third follows how likely positions are met, the first rounds first, and so where the agent loses.

A folder holds, with a number for each wave (w), group (g) and part (p):

    positions/w-g.npz         which codes of the group are reachable
    agents/NAME/values/w-g-p.npz   best-response values, own values, answers, losses
    agents/NAME/lost-w.json   what the agent loses in the wave
    .../found, .../met        what parts say of the next wave, until it is put together

Every file says of which game, rules and agent it is and has a digest of its arrays, which is compared whenever it is read.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from getbit_env.core.choices import whole_number
from getbit_env.core.files import owned, write_json
from getbit_env.core.units import results_in_order
from getbit_env.exact.best_response import (
    SAME,
    AskedPolicy,
    Judgement,
    Leak,
    Met,
    ResponseWorkspace,
    check_policy,
    end_values,
    line_of,
    respond,
    spread_reach,
    workspace_of,
)
from getbit_env.exact.groups import (
    Group,
    GroupPositions,
    Step,
    check_grouped,
    expand_codes,
    grouping_digest,
    groups_of,
    layers_of,
    mark_successors,
    new_group_expansion,
    new_step,
    numbered,
    successors_of,
)
from getbit_env.exact.positions import AT_ONCE, Positions, Progress, silent
from getbit_env.exact.ram import need_memory
from getbit_env.exact.stored_results import StoredResultError, open_result, save_result
from getbit_env.get_bit.variants import Variant

PART = 1 << 19  # positions of a part: half a minute to a minute of five players
LEAST_PART = 64
_QUESTION = 4096  # positions of one question
_CHECKED = 256  # questions that each part asks twice
_SMALL = 2048  # what a part costs besides its positions, in positions
Array = NDArray[Any]
Declared = Mapping[str, tuple[DTypeLike, tuple[int, ...]]]  # type and shape of each array of a file


class ShardError(ValueError):
    """A folder is of another game, agent or size of parts, or a file in it is damaged; the message says which."""


class Folder(NamedTuple):
    """Where the files of a game lie, and what all parts need to know; picklable."""

    path: Path
    variant: Variant
    part: int  # positions of a part


class Judged(NamedTuple):
    """An agent that is judged, as parts take it."""

    name: str
    pickled: bytes
    path: Path


class Part(NamedTuple):
    """Some positions of a group, next to each other."""

    wave: int
    group: int
    number: int
    begin: int
    end: int

    @property
    def file_name(self) -> str:
        """Of the part's result."""
        return f"{self.wave:02}-{self.group:05}-{self.number:05}.npz"


class Receipt(NamedTuple):
    """What a unit tells of its result, besides the file that holds it."""

    digest: str
    positions: int
    seconds: float  # of a processor
    size: int  # bytes of memory that its arrays took; 0 if an earlier run did it
    facts: dict[str, float]


# --- files ----------------------------------------------------------------------------------------------------------------


def _digest(arrays: Mapping[str, Array]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _group_file(path: Path, wave: int, group: int) -> Path:
    return path / f"{wave:02}-{group:05}.npz"


def _save(path: Path, kind: str, variant: Variant, of: str, facts: Mapping[str, float], arrays: Mapping[str, Array]) -> str:
    """Write a file; returns its digest."""
    digest = _digest(arrays)
    every = {"grouping": grouping_digest(), "of": of, "digest": digest, **facts}
    save_result(path, kind, variant, every, arrays, compress=kind != "values")
    return digest


def _load(
    path: Path,
    kind: str,
    variant: Variant,
    of: str,
    arrays: Declared,
    *,
    facts: tuple[str, ...] = (),
    names: tuple[str, ...] | None = None,
) -> tuple[dict[str, Array], dict[str, float], str]:
    """Read what `_save` wrote: all arrays if its digest is to be compared, or some of them (`names`), whose checksums are.

    Raises:
        FileNotFoundError: there is no such file.
        StoredResultError: it is damaged, or something else.
    """
    with open_result(path, kind, variant, tuple(arrays)) as stored:
        if stored.text("grouping") != grouping_digest() or stored.text("of") != of:
            raise StoredResultError(f"{path} is of another numbering or agent")
        found = {name: stored.array(name, *arrays[name]) for name in names or tuple(arrays)}
        told = {fact: stored.number(fact) for fact in facts}
        digest = stored.text("digest")
    if names is None and _digest(found) != digest:
        raise StoredResultError(f"{path} is damaged: it does not hold what was written")
    return found, told, digest


# --- parts ----------------------------------------------------------------------------------------------------------------


def parts_of(wave: int, counts: list[int], part: int) -> list[Part]:
    """The parts of a wave, given how many positions each of its groups has."""
    return [
        Part(wave, group, number, begin, min(begin + part, count))
        for group, count in enumerate(counts)
        for number, begin in enumerate(range(0, count, part))
    ]


def bundles(parts: list[Part], size: int) -> list[list[Part]]:
    """Parts put together to units of about the size of a large part, so that small groups are not a unit each."""
    found: list[list[Part]] = []
    room = 0
    for part in parts:
        cost = part.end - part.begin + _SMALL
        if cost > room:
            found.append([])
            room = max(size, _SMALL)
        found[-1].append(part)
        room -= cost
    return found


def _words_length(variant: Variant, group: Group) -> int:
    return int(layers_of(variant, [group])[1][-1]) // 64


def _group_words(folder: Folder, wave: int, group: int) -> NDArray[np.uint64]:
    length = _words_length(folder.variant, groups_of(folder.variant)[wave][group])
    path = _group_file(folder.path / "positions", wave, group)
    return _load(path, "positions", folder.variant, "", {"words": (np.uint64, (length,))})[0]["words"]


def _codes(words: NDArray[np.uint64], part: Part) -> NDArray[np.int64]:
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return np.flatnonzero(bits)[part.begin : part.end]


def _successors(folder: Folder, wave: int, group: int) -> list[int]:
    """The numbers of the groups of the next wave to which a group leads."""
    waves = groups_of(folder.variant)
    after = successors_of(folder.variant, wave, waves[wave][group])
    return [_place(folder.variant, wave + 1)[found] for found in after]


def _place(variant: Variant, wave: int) -> dict[Group, int]:
    return {group: number for number, group in enumerate(groups_of(variant)[wave])} if wave < len(groups_of(variant)) else {}


class Stage(NamedTuple):
    """A part that is got ready: its positions, numbered from 0, and those to which they lead, numbered after them."""

    positions: GroupPositions
    step: Step
    after: list[int]  # the groups of the next wave to which it leads
    counts: list[int]  # positions of each

    @property
    def all(self) -> int:
        """Positions of both kinds; the end of a game has this number."""
        return len(self.positions.codes) + sum(self.counts)


def _get_ready(folder: Folder, part: Part) -> Stage:
    group = groups_of(folder.variant)[part.wave][part.group]
    step, first = new_step(folder.variant, part.wave, group)
    codes = _codes(_group_words(folder, part.wave, part.group), part)
    after = _successors(folder, part.wave, part.group)
    words = np.zeros(int(first[-1]) // 64, np.uint64)
    counts = []
    for place, number in enumerate(after):
        found = _group_words(folder, part.wave + 1, number)
        words[first[place] // 64 : first[place + 1] // 64] = found
        counts.append(int(np.bitwise_count(found).sum(dtype=np.int64)))
    return Stage(GroupPositions(folder.variant, numbered(step, words, len(codes)), codes), step, after, counts)


def _check_known(known: bool, part: Part) -> None:
    if not known:
        raise AssertionError(f"play leads from part {part.file_name} to a position that no group has")


# --- the first pass: which positions there are ----------------------------------------------------------------------------


def _find_arrays(folder: Folder, wave: int, group: int) -> Declared:
    waves = groups_of(folder.variant)
    return {
        f"to-{after:05}": (np.uint64, (_words_length(folder.variant, waves[wave + 1][after]),))
        for after in _successors(folder, wave, group)
    }


def find_part(folder: Folder, part: Part) -> Receipt:
    """Mark the positions that follow from those of a part."""
    begun = time.thread_time()
    path, variant = folder.path / "found" / part.file_name, folder.variant
    kept = _kept(path, "found", variant, "", _find_arrays(folder, part.wave, part.group))
    count = part.end - part.begin
    if kept is not None:
        return Receipt(kept[2], count, 0, 0, {})
    step, first = new_step(variant, part.wave, groups_of(variant)[part.wave][part.group])
    codes = _codes(_group_words(folder, part.wave, part.group), part)
    marks = np.zeros(int(first[-1]), np.uint8)
    expansion = new_group_expansion(variant)
    for begin in range(0, count, AT_ONCE):
        some = codes[begin : begin + AT_ONCE]
        expand_codes(step, some, False, expansion)
        _check_known(mark_successors(expansion, len(some), marks), part)
    words = np.packbits(marks, bitorder="little").view(np.uint64)
    after = _successors(folder, part.wave, part.group)
    arrays = {f"to-{number:05}": words[first[k] // 64 : first[k + 1] // 64] for k, number in enumerate(after)}
    digest = _save(path, "found", variant, "", {}, arrays)
    return Receipt(digest, count, time.thread_time() - begun, marks.nbytes + codes.nbytes, {})


class Gathering(NamedTuple):
    """A group of a wave, and the parts of the wave before that lead to it."""

    wave: int
    group: int
    parts: list[Part]


def gather_positions(folder: Folder, gathering: Gathering) -> Receipt:
    """Put together which positions of a group were found."""
    begun = time.thread_time()
    wave, group, variant = gathering.wave, gathering.group, folder.variant
    path = _group_file(folder.path / "positions", wave, group)
    length = _words_length(variant, groups_of(variant)[wave][group])
    words = np.zeros(length, np.uint64)
    for part in gathering.parts:
        name = f"to-{group:05}"
        arrays = _find_arrays(folder, part.wave, part.group)
        words |= _load(folder.path / "found" / part.file_name, "found", variant, "", arrays, names=(name,))[0][name]
    digest = _save(path, "positions", variant, "", {}, {"words": words})
    count = int(np.bitwise_count(words).sum(dtype=np.int64))
    return Receipt(digest, count, time.thread_time() - begun, 2 * words.nbytes, {})


def look_for_positions(folder: Folder, place: tuple[int, int]) -> Receipt | None:
    """What is known of a group, `(wave, group)`, from an earlier run; None if nothing is."""
    wave, group = place
    length = _words_length(folder.variant, groups_of(folder.variant)[wave][group])
    path = _group_file(folder.path / "positions", wave, group)
    kept = _kept(path, "positions", folder.variant, "", {"words": (np.uint64, (length,))})
    if kept is None:
        return None
    return Receipt(kept[2], int(np.bitwise_count(kept[0]["words"]).sum(dtype=np.int64)), 0, 0, {})


def _kept(
    path: Path,
    kind: str,
    variant: Variant,
    of: str,
    arrays: Declared,
    facts: tuple[str, ...] = (),
) -> tuple[dict[str, Array], dict[str, float], str] | None:
    """What a file of an earlier run holds; None if it can't be used."""
    try:
        return _load(path, kind, variant, of, arrays, facts=facts)
    except (FileNotFoundError, StoredResultError):
        return None


# --- the second pass: best responses --------------------------------------------------------------------------------------


def _value_arrays(folder: Folder, count: int) -> Declared:
    players = folder.variant.players
    return {
        "best": (np.float64, (count, players)),
        "own": (np.float64, (count, players)),
        "leak": (np.float64, (count,)),
        "answer": (np.uint8, (count, players)),
    }


def part_memory(variant: Variant, own: int, after: int) -> int:
    """Bytes that judging a part takes, given how many positions it has, and the groups to which it leads."""
    return (own + after) * variant.players * 16 + own * (variant.players * 9 + 24)


def _new_workspace(variant: Variant) -> ResponseWorkspace:
    return workspace_of(variant.players, variant.actions, new_group_expansion(variant))


def load_values(folder: Folder, judged: Judged, part: Part, names: tuple[str, ...] | None = None) -> dict[str, Array]:
    """The values of a part.

    Raises:
        FileNotFoundError: they are not known yet.
        StoredResultError: the file is damaged.
    """
    arrays = _value_arrays(folder, part.end - part.begin)
    return _load(judged.path / "values" / part.file_name, "values", folder.variant, judged.name, arrays, names=names)[0]


def respond_part(folder: Folder, judged: Judged, part: Part) -> Receipt:
    """Find the best response to an agent in the positions of a part, whose successors are known."""
    begun = time.thread_time()
    variant, players, count = folder.variant, folder.variant.players, part.end - part.begin
    path = judged.path / "values" / part.file_name
    kept = _kept(path, "values", variant, judged.name, _value_arrays(folder, count), ("regret",))
    if kept is not None:
        return Receipt(kept[2], count, 0, 0, kept[1])
    stage = _get_ready(folder, part)
    size = part_memory(variant, count, sum(stage.counts))
    need_memory(size, f"a part of {count:,} positions of {variant}, and the {sum(stage.counts):,} to which they lead,")
    best, own = np.zeros((stage.all + 1, players)), np.zeros((stage.all + 1, players))
    best[stage.all] = own[stage.all] = end_values(variant)
    at = count
    for number, positions in zip(stage.after, stage.counts, strict=True):
        for after in parts_of(part.wave + 1, [0] * number + [positions], folder.part):
            values = load_values(folder, judged, after)
            best[at : at + after.end - after.begin], own[at : at + after.end - after.begin] = values["best"], values["own"]
            at += after.end - after.begin
    leak, regret, answer = np.zeros((count, players)), np.zeros(count), np.zeros((count, players), np.uint8)
    workspace = _new_workspace(variant)
    asked = AskedPolicy(pickle.loads(judged.pickled), stage.positions, judged.name, sample=_CHECKED)
    for begin in range(0, count, _QUESTION):
        policy = asked.policy(np.arange(begin, min(begin + _QUESTION, count)))
        for some in range(begin, begin + len(policy), AT_ONCE):
            stop = min(some + AT_ONCE, begin + len(policy))
            expand_codes(stage.positions.step, stage.positions.codes[some:stop], True, workspace.expansion)
            respond(some, stop, policy[some - begin : stop - begin], best, own, leak, regret, answer, workspace)
    facts = {"regret": float(regret.max())}
    arrays: dict[str, Array] = {"best": best[:count], "own": own[:count], "leak": leak.mean(axis=1), "answer": answer}
    digest = _save(path, "values", variant, judged.name, facts, arrays)
    return Receipt(digest, count, time.thread_time() - begun, size, facts)


# --- the third pass: what is met ------------------------------------------------------------------------------------------


def _met_arrays(after: list[int], counts: list[int]) -> Declared:
    return {f"to-{number:05}": (np.float64, (count,)) for number, count in zip(after, counts, strict=True)}


def meet_part(folder: Folder, judged: Judged, counts: list[int], part: Part) -> Receipt:
    """Follow how likely what follows from a part is met, and what the agent loses in the part.

    Args:
        folder: of the game.
        judged: the agent.
        counts: positions of all groups of the part's wave.
        part: the part.
    """
    begun = time.thread_time()
    variant = folder.variant
    path = judged.path / "met" / part.file_name
    stage = _get_ready(folder, part)
    kept = _kept(path, "met", variant, judged.name, _met_arrays(stage.after, stage.counts), ("lost", "met"))
    count = part.end - part.begin
    if kept is not None:
        return Receipt(kept[2], count, 0, 0, kept[1])
    group = _group_file(judged.path / "reach", part.wave, part.group)
    shape = {"reach": (np.float64, (counts[part.group],))}
    reach = np.zeros(stage.all + 1)
    reach[:count] = _load(group, "reach", variant, judged.name, shape)[0]["reach"][part.begin : part.end]
    met = np.flatnonzero(reach[:count])
    workspace = _new_workspace(variant)
    if len(met):
        asked = AskedPolicy(pickle.loads(judged.pickled), stage.positions, judged.name, sample=_CHECKED)
    for begin in range(0, len(met), _QUESTION):
        some = met[begin : begin + _QUESTION]
        policy = asked.policy(some)
        for i in range(0, len(some), AT_ONCE):
            expand_codes(stage.positions.step, stage.positions.codes[some[i : i + AT_ONCE]], True, workspace.expansion)
            spread_reach(some[i : i + AT_ONCE], policy[i : i + AT_ONCE], reach, workspace)
    leak = load_values(folder, judged, part)["leak"] if len(met) else np.zeros(count)
    facts = {"lost": float((reach[met] * leak[met]).sum()), "met": float(len(met))}
    starts = np.cumsum([count, *stage.counts])
    arrays = {f"to-{number:05}": reach[starts[k] : starts[k + 1]] for k, number in enumerate(stage.after)}
    digest = _save(path, "met", variant, judged.name, facts, arrays)
    return Receipt(digest, count, time.thread_time() - begun, reach.nbytes, facts)


def gather_reach(folder: Folder, judged: Judged, counts: list[int], gathering: Gathering) -> Receipt:
    """Add up how likely the positions of a group are met."""
    begun = time.thread_time()
    variant, name = folder.variant, f"to-{gathering.group:05}"
    reach = np.zeros(counts[gathering.group])
    if gathering.wave == 0:
        reach[:] = 1 / len(reach)
    for part in gathering.parts:
        after = _successors(folder, part.wave, part.group)
        arrays = _met_arrays(after, [counts[number] for number in after])
        reach += _load(judged.path / "met" / part.file_name, "met", variant, judged.name, arrays, names=(name,))[0][name]
    path = _group_file(judged.path / "reach", gathering.wave, gathering.group)
    digest = _save(path, "reach", variant, judged.name, {}, {"reach": reach})
    return Receipt(digest, len(reach), time.thread_time() - begun, 2 * reach.nbytes, {})


def look_for_reach(folder: Folder, judged: Judged, counts: list[int], place: tuple[int, int]) -> Receipt | None:
    """What an earlier run knew of how likely a group's positions, `(wave, group)`, are met; None if nothing."""
    wave, group = place
    path = _group_file(judged.path / "reach", wave, group)
    kept = _kept(path, "reach", folder.variant, judged.name, {"reach": (np.float64, (counts[group],))})
    return None if kept is None else Receipt(kept[2], counts[group], 0, 0, {})


def _bundle(function: Callable[[Part], Receipt], parts: list[Part]) -> list[Receipt]:
    return [function(part) for part in parts]


# --- all of it ------------------------------------------------------------------------------------------------------------


class WaveCost(NamedTuple):
    """What a wave took, in one of the passes: of the parts that were not finished already."""

    stage: str
    wave: int
    groups: int
    positions: int  # of all parts
    done: int  # positions of the parts that this run did
    seconds: float  # of processors, all workers together, for these
    most_memory: int  # bytes of the part that took most


@dataclass(frozen=True, kw_only=True)
class ShardedJudgement(Judgement):
    """The exact result, whose values lie in files; see `best_response.Judgement`.

    Attributes:
        folder: where they lie.
        judged: the agent.
        counts: positions of each group of each wave.
        digest: hex digest of all values: equal for equal results, wherever they were computed.
        costs: what the waves took.
    """

    folder: Folder
    judged: Judged
    counts: list[list[int]]
    digest: str
    costs: list[WaveCost]

    @property
    def variant(self) -> Variant:
        """The game in which the agent was judged."""
        return self.folder.variant

    @property
    def count(self) -> int:
        """Positions of the game."""
        return sum(map(sum, self.counts))

    def parts(self) -> Iterator[Part]:
        """All parts, the first rounds first."""
        for wave, counts in enumerate(self.counts):
            yield from parts_of(wave, counts, self.folder.part)

    def positions_of(self, part: Part) -> GroupPositions:
        """The positions of a part."""
        return _get_ready(self.folder, part).positions

    def values_of(self, part: Part) -> dict[str, Array]:
        """The values of a part: `best` and `own`, `[N, P]`, `answer`, `[N, P]`, and `leak`, `[N]`, the mean over roles."""
        return load_values(self.folder, self.judged, part)

    def exploiting_line(self) -> str:
        """A game in which the agent is exploited; see `best_response.exploiting_line`."""
        number, role = (int(i) for i in np.unravel_index((self.best - self.own).argmax(), self.best.shape))
        return line_of(self.variant, self.name, self._meet, (next(self.parts()), number), role)

    def _meet(self, node: tuple[Part, int]) -> Met[tuple[Part, int]]:
        part, at = node
        stage, values = _get_ready(self.folder, part), self.values_of(part)
        numbers = np.array([at])
        workspace = _new_workspace(self.variant)
        asked = AskedPolicy(pickle.loads(self.judged.pickled), stage.positions, self.name, sample=_CHECKED)
        expand_codes(stage.positions.step, stage.positions.codes[numbers], True, workspace.expansion)

        def follow(joint: int) -> tuple[Part, int] | None:
            number = int(workspace.expansion.successor[0, joint]) - len(stage.positions.codes)
            for after, count in zip(stage.after, stage.counts, strict=True):
                if number < count:
                    whole = parts_of(part.wave + 1, [0] * after + [count], self.folder.part)[number // self.folder.part]
                    return whole, number % self.folder.part
                number -= count
            return None

        return Met(
            place=stage.positions.games(numbers).place[:, 0],
            best=values["best"][at],
            own=values["own"][at],
            answer=values["answer"][at],
            policy=asked.policy(numbers)[0],
            workspace=workspace,
            follow=follow,
        )

    def answers(self, positions: Positions) -> NDArray[np.uint8]:
        """The best response by the numbers of `positions`, for games small enough to have them: `[N, P]`."""
        answer = np.zeros((positions.count, self.variant.players), np.uint8)
        for part in self.parts():
            some, values = self.positions_of(part), self.values_of(part)
            for begin in range(0, some.count, _QUESTION):
                numbers = np.arange(begin, min(begin + _QUESTION, some.count))
                answer[numbers_of(some, numbers, positions)] = values["answer"][numbers]
        return answer


def numbers_of(some: GroupPositions, numbers: NDArray[np.int64], positions: Positions) -> NDArray[np.int64]:
    """What positions of a group, `[G]`, are called in the numbering of the whole game."""
    observation, mask = some.see(numbers)
    viewer = (mask.min(axis=2) == 0).argmax(axis=1)  # a robot whose hand is not full shows any position but the first ones
    rows = np.arange(len(numbers))
    alive = observation.max(axis=2) > 0  # entries are 0 or more
    viewer = np.where(alive[rows, viewer], viewer, alive.argmax(axis=1))
    found, _ = positions.read(np.ascontiguousarray(observation[rows, viewer]))
    return found


class _Run:
    """One call of `judge_in_shards`."""

    def __init__(self, folder: Folder, pool: Executor, progress: Progress) -> None:
        self.folder, self.pool, self.progress = folder, pool, progress
        self.variant = folder.variant
        self.groups = groups_of(folder.variant)
        self.costs: list[WaveCost] = []

    def do(
        self, stage: str, wave: int, function: Callable[[Part], Receipt], parts: list[Part], done: int, of: int
    ) -> list[Receipt]:
        """The receipts of the parts of a wave."""
        state = [done]

        def tick(receipts: list[Receipt]) -> None:
            state[0] += sum(receipt.positions for receipt in receipts)
            self.progress(stage, state[0], of)

        units = bundles(parts, self.folder.part)
        receipts = [receipt for some in results_in_order(self.pool, partial(_bundle, function), units, tick) for receipt in some]
        new = [receipt for receipt in receipts if receipt.size]
        self.costs.append(
            WaveCost(
                stage,
                wave,
                len(self.groups[wave]),
                sum(receipt.positions for receipt in receipts),
                sum(receipt.positions for receipt in new),
                sum(receipt.seconds for receipt in new),
                max((receipt.size for receipt in new), default=0),
            )
        )
        return receipts

    def gatherings(self, wave: int, before: list[Part]) -> list[Gathering]:
        """The groups of a wave, with the parts of the one before that lead to each."""
        leading: dict[int, list[Part]] = {group: [] for group in range(len(self.groups[wave]))}
        after: dict[int, list[int]] = {}
        for part in before:
            if part.group not in after:
                after[part.group] = _successors(self.folder, part.wave, part.group)
            for group in after[part.group]:
                leading[group].append(part)
        return [Gathering(wave, group, parts) for group, parts in leading.items()]

    def find(self) -> list[list[int]]:
        """How many positions each group of each wave has."""
        counts: list[list[int]] = []
        of = sum(map(len, self.groups))
        for wave, groups in enumerate(self.groups):
            places = [(wave, group) for group in range(len(groups))]
            known = results_in_order(self.pool, partial(look_for_positions, self.folder), places)
            if wave == 0 and known[0] is None:
                known = [_start(self.folder)]
            elif any(receipt is None for receipt in known):
                before = parts_of(wave - 1, counts[-1], self.folder.part)
                self.do("finding positions", wave - 1, partial(find_part, self.folder), before, 0, sum(counts[-1]))
                gathered = results_in_order(self.pool, partial(gather_positions, self.folder), self.gatherings(wave, before))
                known = list(gathered)
            counts.append([receipt.positions for receipt in known if receipt is not None])
            shutil.rmtree(self.folder.path / "found", ignore_errors=True)
            self.progress("finding groups", sum(map(len, counts)), of)
        return counts

    def respond(self, judged: Judged, counts: list[list[int]]) -> list[list[Receipt]]:
        """The receipts of all parts, by wave."""
        of, done = sum(map(sum, counts)), 0
        receipts: list[list[Receipt]] = []
        for wave in reversed(range(len(counts))):
            parts = parts_of(wave, counts[wave], self.folder.part)
            receipts.insert(0, self.do("best response", wave, partial(respond_part, self.folder, judged), parts, done, of))
            done += sum(counts[wave])
        return receipts

    def leaks(self, judged: Judged, counts: list[list[int]]) -> list[Leak]:
        """Where the agent loses; see `best_response.Judgement`."""
        folder, of, waves = self.folder, sum(map(sum, counts)), len(self.groups)
        lost = [_read_lost(judged.path / f"lost-{wave:02}.json", len(groups)) for wave, groups in enumerate(self.groups)]
        first = next((wave for wave, known in enumerate(lost) if known is None), waves)
        if first < waves:
            places = [(first, group) for group in range(len(self.groups[first]))]
            if None in results_in_order(self.pool, partial(look_for_reach, folder, judged, counts[first]), places):
                first = 0
                results_in_order(self.pool, partial(gather_reach, folder, judged, counts[0]), [Gathering(0, 0, [])])
        for wave in range(first, waves):
            parts = parts_of(wave, counts[wave], folder.part)
            before = sum(map(sum, counts[:wave]))
            receipts = self.do("leaks", wave, partial(meet_part, folder, judged, counts[wave]), parts, before, of)
            if wave + 1 < waves:
                gather = partial(gather_reach, folder, judged, counts[wave + 1])
                results_in_order(self.pool, gather, self.gatherings(wave + 1, parts))
            found: list[float | None] = [None] * len(self.groups[wave])  # None where no position is met
            for part, receipt in zip(parts, receipts, strict=True):
                if receipt.facts["met"]:
                    found[part.group] = (found[part.group] or 0.0) + receipt.facts["lost"]
            write_json(judged.path / f"lost-{wave:02}.json", found)
            lost[wave] = found
            shutil.rmtree(judged.path / "met", ignore_errors=True)
            for group in range(len(self.groups[wave])):
                _group_file(judged.path / "reach", wave, group).unlink(missing_ok=True)
        leaks: dict[tuple[int, int], float] = {}
        for wave, groups in enumerate(self.groups):
            limbs = self.variant.robots * self.variant.limbs - max(wave - 1, 0)
            for kind, gain in zip(groups, lost[wave] or [], strict=True):
                if gain is not None:
                    leaks[len(kind), limbs] = leaks.get((len(kind), limbs), 0.0) + gain
        return [Leak(robots, limbs, leaks[robots, limbs]) for robots, limbs in sorted(leaks, key=lambda at: (-at[1], -at[0]))]


def _read_lost(path: Path, groups: int) -> list[float | None] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    good = isinstance(found, list) and len(found) == groups and all(x is None or isinstance(x, float) for x in found)
    return found if good else None


def _start(folder: Folder) -> Receipt:
    """Write the positions before the first round: all owner patterns, which are all codes of the first group."""
    patterns = 3 if folder.variant.robots_per_player == 2 else 1
    words = np.array([(1 << patterns) - 1], np.uint64)
    digest = _save(_group_file(folder.path / "positions", 0, 0), "positions", folder.variant, "", {}, {"words": words})
    return Receipt(digest, patterns, 0, 0, {})


def find_positions(
    variant: Variant, path: Path, *, part: int = PART, pool: Executor | None = None, progress: Progress = silent
) -> list[list[int]]:
    """Find the positions of a game, and keep them in a folder.

    Args:
        variant: the game.
        path: the folder.
        part: positions of a part.
        pool: does the parts.
        progress: is told how far it is.

    Returns:
        How many positions each group of each wave has.

    Raises:
        ValueError: the positions of this game can't be grouped, or are too many.
        ShardError: the folder is of another game or size of parts.
    """
    with _opened(variant, path, part) as folder:
        return _Run(folder, pool or ThreadPoolExecutor(1), progress).find()


def judge_in_shards(
    agent: Any,
    variant: Variant,
    path: Path,
    *,
    name: str = "the agent",
    part: int = PART,
    pool: Executor | None = None,
    progress: Progress = silent,
) -> ShardedJudgement:
    """Judge an agent exactly, as `exploitability` does, over files.

    Args:
        agent: as `exploitability` takes it, and picklable: each part has a copy of its own.
        variant: the game, face up.
        path: a folder, which all workers reach under this path. Finished parts are kept in it, and a repeated call goes on from
            there; agents of different names share its positions.
        name: of the agent.
        part: positions of a part. Agents that compute in batches can answer differently in the last digits if it changes.
        pool: does the parts; a thread by default. Files and results depend on neither it nor its workers.
        progress: is told how far it is.

    Returns:
        Best-response values, the best response, and where the agent leaks.

    Raises:
        AgentError: the agent plays by more than the position, or answers with what is no distribution over legal actions.
        ValueError: the positions of this game can't be grouped, or are too many; or a part does not fit into memory.
        ShardError: the folder is of another game, agent or size of parts; or a file in it was damaged after it was checked.
        InUseError: another process uses the folder.
        OSError: the folder can't be written.
    """
    begun = time.perf_counter()
    check_grouped(variant)
    check_policy(agent, variant, name)
    try:
        pickled = pickle.dumps(agent)
    except Exception as error:  # whatever an object raises that can't be pickled
        raise ShardError(f"{name} can't be pickled, and so not sent to workers ({error!r})") from error
    with _opened(variant, path, part) as folder:
        run = _Run(folder, pool or ThreadPoolExecutor(1), progress)
        judged = Judged(name, pickled, folder.path / "agents" / _folder_name(name))
        counts = run.find()
        _check_same_agent(folder, judged, counts)
        receipts = run.respond(judged, counts)
        leaks = run.leaks(judged, counts)
    digest = hashlib.sha256("".join(receipt.digest for wave in receipts for receipt in wave).encode()).hexdigest()
    starts = load_values(folder, judged, parts_of(0, counts[0], part)[0])
    return ShardedJudgement(
        name=name,
        best=starts["best"],
        own=starts["own"],
        leaks=leaks,
        regret=max(receipt.facts["regret"] for wave in receipts for receipt in wave),
        seconds=time.perf_counter() - begun,
        folder=folder,
        judged=judged,
        counts=counts,
        digest=digest,
        costs=run.costs,
    )


def _folder_name(name: str) -> str:
    """A name for the folder of an agent: one for each name, which any file system takes."""
    return f"{re.sub('[^A-Za-z0-9]+', '-', name)[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@contextmanager
def _opened(variant: Variant, path: Path, part: int) -> Iterator[Folder]:
    """The folder of a game, which no other process uses meanwhile."""
    check_grouped(variant)
    if whole_number("part", part) < LEAST_PART:
        raise ValueError(f"part (positions of a part) is {LEAST_PART} or more, not {part}")
    path = path.resolve()
    path.mkdir(parents=True, exist_ok=True)
    with owned(path / "plan.json", "the folder of shards"):
        plan = {"variant": variant.name, "part": part}
        file = path / "plan.json"
        if file.exists():
            try:
                found = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                found = None
            if found != plan:
                raise ShardError(f"{path} holds the shards of {found}, not of {plan}: choose another folder, or remove it")
        elif any(entry for entry in path.iterdir() if not entry.name.startswith(".")):
            raise ShardError(f"{path} is not empty, and holds no shards: choose another folder")
        write_json(file, plan)
        try:
            yield Folder(path, variant, part)
        except StoredResultError as error:
            raise ShardError(f"{error}; give the same command again, which computes damaged files anew") from error


def _check_same_agent(folder: Folder, judged: Judged, counts: list[list[int]]) -> None:
    """Compare some of the agent's answers with those of the run that began in this folder.

    Raises:
        ShardError: they are others.
    """
    wave = max(range(len(counts)), key=lambda wave: sum(counts[wave]))
    group = int(np.argmax(counts[wave]))
    step, _ = new_step(folder.variant, wave, groups_of(folder.variant)[wave][group])
    codes = _codes(_group_words(folder, wave, group), Part(wave, group, 0, 0, _QUESTION))
    asked = AskedPolicy(pickle.loads(judged.pickled), GroupPositions(folder.variant, step, codes), judged.name)
    policy = asked.policy(np.arange(len(codes)))
    path, declared = judged.path / "agent.npz", {"policy": (np.float64, policy.shape)}
    kept = _kept(path, "agent", folder.variant, judged.name, declared)
    if kept is None:
        shutil.rmtree(judged.path, ignore_errors=True)  # whatever it holds, nothing says of which agent
        _save(path, "agent", folder.variant, judged.name, {}, {"policy": policy})
    elif np.abs(kept[0]["policy"] - policy).max() > SAME:
        raise ShardError(
            f"{judged.path} was begun with another agent of the name {judged.name}: remove it, or choose another folder"
        )
