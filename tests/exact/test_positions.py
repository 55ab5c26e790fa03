"""The numbering of positions: complete, without a gap, and the same that observations are read by."""

import numpy as np
import pytest

from getbit_env.exact.positions import Positions, code_of, expand, new_expansion, number_of
from getbit_env.get_bit.observations import Layout
from getbit_env.get_bit.variants import parse_variant
from tests.exact.brute_force import all_situations

SMALL = ["2p-3c-1l", "2p-4c-1l", "2p-3c-2l-pick1", "3p-1r-4c-2l", "4p-3c-1l-pick1", "5p-3c-1l"]


@pytest.mark.parametrize("name", ["2p-3c-1l", "2p-4c-1l", "3p-1r-4c-1l", "3p-1r-3c-2l-pick1", "4p-3c-1l"])
def test_just_the_positions_are_numbered_that_play_leads_to(name):
    assert Positions(parse_variant(name)).count == len(all_situations(parse_variant(name)))


@pytest.mark.parametrize("name", SMALL)
def test_what_every_player_sees_tells_the_position_and_its_role(name):
    positions = Positions(parse_variant(name))
    numbers = np.arange(positions.count)
    observation, mask = positions.see(numbers)
    alive = observation.any(axis=-1)
    found, roles = positions.read(observation.reshape(-1, observation.shape[-1]))
    expected = np.where(alive, numbers[:, None], -1)
    assert found.reshape(alive.shape).tolist() == expected.tolist()
    assert roles.reshape(alive.shape)[alive].tolist() == np.broadcast_to(np.arange(alive.shape[1]), alive.shape)[alive].tolist()
    assert mask[~alive].all()


@pytest.mark.parametrize("name", SMALL)
def test_a_round_leads_to_the_next_wave_or_to_the_end(name):
    positions = Positions(parse_variant(name))
    work = new_expansion(positions.index)
    met = np.zeros(positions.count + 1, np.bool_)
    met[positions.starts] = True
    for wave in range(positions.waves):
        first, last = positions.first[wave : wave + 2]
        for number in range(first, last):
            expand(positions.index, np.array([number]), work)
            following = work.successor[0, : work.joint[0]]
            assert (
                ((following >= last) & (following < positions.first[min(wave + 2, positions.waves)]))
                | (following == positions.count)
            ).all()
            met[following] = True
    assert met.all()
    assert positions.waves == positions.variant.most_rounds


def test_codes_and_numbers_are_inverse():
    positions = Positions(parse_variant("3p-1r-4c-2l"))
    codes = [code_of(positions.index, n) for n in range(positions.count)]
    assert codes == sorted(set(codes))
    assert [number_of(positions.index, code) for code in codes] == list(range(positions.count))
    others = sorted(set(range(positions.index.layer_start[-1])) - set(codes))
    assert {number_of(positions.index, code) for code in others} == {-1}


def test_the_numbering_is_the_same_on_two_threads_and_when_it_is_read_back():
    variant = parse_variant("2p-4c-2l")
    one, two = Positions(variant), Positions(variant, threads=2)
    again = Positions(variant, one.index.words)
    assert (one.index.words == two.index.words).all()
    assert one.first.tolist() == two.first.tolist() == again.first.tolist()


def test_what_shows_no_position_is_read_as_none():
    positions = Positions(parse_variant("4p-3c-2l"))
    observation, _ = positions.see(np.array([positions.count - 1]))
    seen = observation[0, :1].copy()
    nothing = np.zeros_like(seen)
    too_early = seen.copy()
    too_early[0, -1] = 1  # the last position, said to be before the first round
    no_hand = seen.copy()
    no_hand[0, Layout(positions.variant).block_fields["hand"].slice] = 0
    nobodys = seen.copy()
    nobodys[0, :: Layout(positions.variant).block] = 0
    assert positions.read(seen)[0].tolist() == [positions.count - 1]
    for other in (nothing, too_early, no_hand, nobodys):
        assert [array.tolist() for array in positions.read(other)] == [[-1], [-1]]


@pytest.mark.parametrize(
    ("name", "why"),
    [("4p-memory", "face-up"), ("3p", "three players with two robots"), ("7p", "too large"), ("5p", "too large")],
)
def test_what_can_not_be_numbered_is_refused(name, why):
    with pytest.raises(ValueError, match=why):
        Positions(parse_variant(name))
