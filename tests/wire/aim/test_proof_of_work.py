import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.wire.aim.proof_of_work import is_challenge, is_solved, leading_zero_bits, solve
from tests.support.examples import examples

PUBLIC = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"


@given(st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True), st.integers(0, 9))
@settings(max_examples=examples(40))
def test_what_is_solved_is_accepted_and_no_smaller_number_is(challenge, difficulty):
    if not is_challenge(challenge):
        return
    solution = solve(challenge, PUBLIC, difficulty)
    assert is_solved(challenge, PUBLIC, difficulty, solution)
    hashed = hashlib.sha256(f"AIM2-POW\n{challenge}\n{PUBLIC}\n{solution}".encode()).hexdigest()
    assert bin(int(hashed, 16))[2:].zfill(256).startswith("0" * difficulty)
    assert not any(is_solved(challenge, PUBLIC, difficulty, str(n)) for n in range(int(solution)))


def test_a_solution_is_good_for_one_challenge_and_one_key_only():
    solution = solve("challenge", PUBLIC, 12)
    assert is_solved("challenge", PUBLIC, 12, solution)
    assert not is_solved("challengf", PUBLIC, 12, solution)
    assert not is_solved("challenge", PUBLIC[:-1] + "A", 12, solution)


def test_nothing_can_be_moved_from_one_part_into_the_next():
    assert not is_challenge("a\nb")
    # The same bytes, cut elsewhere: only one of the two is a question at all.
    assert not is_solved(f"a\n{PUBLIC}", "7", 0, "5")
    assert is_solved("a", PUBLIC, 0, "7")


@pytest.mark.parametrize(
    "solution",
    ["", "-1", "+1", "01", " 1", "1\n", "1 ", "1.0", "1e3", "0x1", "١", "1" * 21, None, 1, b"1"],
    ids=repr,
)
def test_a_solution_is_a_decimal_number_in_one_spelling(solution):
    assert is_solved("challenge", PUBLIC, 0, "1" * 20)
    assert not is_solved("challenge", PUBLIC, 0, solution)


@pytest.mark.parametrize("challenge", ["", "a b", "a\n", "ü", "a" * 401, None, 1], ids=repr)
def test_what_is_no_challenge_is_neither_solved_nor_accepted(challenge):
    assert not is_solved(challenge, PUBLIC, 0, "0")
    with pytest.raises(ValueError, match="challenge"):
        solve(challenge, PUBLIC, 0)


@pytest.mark.parametrize("public", [None, 1, "ü" * 43])
def test_a_key_that_is_none_solves_nothing(public):
    assert not is_solved("challenge", public, 0, "0")


@pytest.mark.parametrize("difficulty", [-1, 65])
def test_a_difficulty_that_nobody_means_is_not_worked_on(difficulty):
    with pytest.raises(ValueError, match="difficulty"):
        solve("challenge", PUBLIC, difficulty)


def test_progress_is_told_and_can_give_up():
    told = []

    def progress(attempts):
        told.append(attempts)
        if attempts >= 150_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve("challenge", PUBLIC, 64, progress)
    assert told == [50_000, 100_000, 150_000]


@pytest.mark.parametrize(
    ("data", "bits"),
    [(b"\x80", 0), (b"\x7f", 1), (b"\x00\xff", 8), (b"\x00\x01", 15), (b"\x00\x00", 16), (b"", 0)],
)
def test_bits_are_counted_from_the_left(data, bits):
    assert leading_zero_bits(data) == bits
