"""The driver: components, alternation, undefined atoms, limits."""

from __future__ import annotations

import random

import pytest

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import Limits, Row
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.engines.strata import stratify, strong_components
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.syntax import parse_text

WIN = """
.decl move(from: node, to: node)
.input move
.decl win(position: node)
win(X) :- move(X, Y), not win(Y).
"""


def program(text: str) -> Program:
    return link([parse_text(text, "game.dl", "game")])


def retrograde(moves: list[Row]) -> tuple[set[int], set[int]]:
    """The won and the drawn positions of a game in which whoever cannot move has lost."""
    nodes = {node for move in moves for node in move}
    following = {node: {b for a, b in moves if a == node} for node in nodes}
    won: set[int] = set()
    lost: set[int] = set()
    while True:
        more_lost = {n for n in nodes - lost - won if following[n] <= won}
        more_won = {n for n in nodes - won - lost if following[n] & (lost | more_lost)}
        if not more_lost and not more_won:
            return won, nodes - won - lost
        lost |= more_lost
        won |= more_won


@pytest.mark.parametrize("seed", range(60))
def test_win_move_is_the_game(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(2, 12)
    moves: list[Row] = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randint(1, 2 * size))]
    won, drawn = retrograde(moves)
    compiled = compile_program(program(WIN))
    if not drawn:
        assert compiled.evaluate({"move": moves}).rows("win") == [(node,) for node in sorted(won)]
        return
    with pytest.raises(ScheduleError) as caught:
        compiled.evaluate({"move": moves})
    shown = ", ".join(f"win({node})" for node in sorted(drawn)[:10])
    assert caught.value.code == "SL120"
    assert f"neither true nor false: {shown}" in caught.value.message


def test_chain_alternates_once_for_two_moves() -> None:
    model = compile_program(program(WIN)).evaluate({"move": [(i, i + 1) for i in range(100)]})
    assert model.rows("win") == [(i,) for i in range(99, -1, -2)][::-1]
    assert model.statistics.alternations == 101


def test_text_of_undefined_atoms() -> None:
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(WIN)).evaluate({"move": [(0, 1), (1, 2), (2, 0), (3, 0), (4, 5)]})
    assert str(caught.value) == (
        "error[SL120] 4 atoms are neither true nor false: win(0), win(1), win(2), win(3)\n"
        "  at game.dl:5:1\n"
        "  win(X) :- move(X, Y), not win(Y).\n"
        "  ^^^\n"
        "  why: the shortest cycle through `not`: win(0) needs not win(1) (game/win#1, game.dl:5:1); "
        "win(1) needs not win(2) (game/win#1, game.dl:5:1); win(2) needs not win(0) (game/win#1, game.dl:5:1)\n"
        "  help: let one of these decisions depend only on earlier ones, for example by comparing positions"
    )


def test_cycle_of_undefined_atoms_passes_positive_links() -> None:
    text = """
        .decl start(node: node)
        .input start
        .decl fuse(node: node)
        .decl near(node: node)
        .decl store(node: node)
        fuse(N) :- start(N), not store(N).
        near(N) :- fuse(N).
        store(N) :- near(N).
    """
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(text)).evaluate({"start": [(7,)]})
    assert caught.value.message == "3 atoms are neither true nor false: fuse(7), near(7), store(7)"
    assert [part.split(" (")[0] for part in caught.value.reason.split(": ", 1)[1].split("; ")] == [
        "fuse(7) needs not store(7)",
        "store(7) needs near(7)",
        "near(7) needs fuse(7)",
    ]


def test_only_the_first_ten_undefined_atoms_are_named() -> None:
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(WIN)).evaluate({"move": [(i, i) for i in range(12)]})
    assert caught.value.message.startswith("12 atoms are neither true nor false: win(0), win(1)")
    assert caught.value.message.endswith("win(9) and 2 more")


def test_a_long_cycle_is_cut_short_in_the_text() -> None:
    size = 3001
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(WIN)).evaluate({"move": [(i, (i + 1) % size) for i in range(size)]})
    assert caught.value.reason.endswith("; 2991 more steps lead back to win(0)")


def test_evaluator_serves_after_an_error() -> None:
    compiled = compile_program(program(WIN))
    with pytest.raises(ScheduleError):
        compiled.evaluate({"move": [(0, 0)]})
    assert compiled.evaluate({"move": [(0, 1)]}).rows("win") == [(0,)]


def test_alternation_limit() -> None:
    compiled = compile_program(program(WIN), Limits(alternations=5))
    with pytest.raises(ScheduleError) as caught:
        compiled.evaluate({"move": [(i, i + 1) for i in range(20)]})
    assert caught.value.code == "SL140"
    assert caught.value.message == "win: not finished after 5 alternations; no partial answer is returned"


def test_alternations_end_when_their_component_has_used_up_its_time() -> None:
    compiled = compile_program(program(WIN), Limits(compute=0.0, slowest=0.0))
    with pytest.raises(ScheduleError) as caught:
        compiled.evaluate({"move": [(i, i + 1) for i in range(20)]})
    assert caught.value.code == "SL140"
    assert caught.value.message == "win: not finished after 0 s of computing; no partial answer is returned"


COUNTING = """
.decl start(number: int)
.input start
.decl number(number: int)
number(N) :- start(N).
number(M) :- number(N), M = N + 1.
"""


def test_round_limit_names_rule_and_newest_row() -> None:
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(COUNTING), Limits(rounds=50)).evaluate({"start": [(0,)]})
    assert str(caught.value) == (
        "error[SL140] number: not finished after 50 rounds; no partial answer is returned\n"
        "  at game.dl:6:1\n"
        "  number(M) :- number(N), M = N + 1.\n"
        "  ^^^^^^\n"
        "  why: rule game/number#2 still adds rows, the newest is number(50)\n"
        "  help: bound what the rule counts up or composes, or raise the limit"
    )


def test_a_fixpoint_in_the_last_round_allowed_is_one() -> None:
    chain = ".decl e(a: int, b: int)\n.input e\n.decl r(a: int)\nr(0) :- e(0, _).\nr(Y) :- r(X), e(X, Y).\n"
    compiled = compile_program(program(chain), Limits(rounds=5))
    assert compiled.evaluate({"e": [(i, i + 1) for i in range(3)]}).count("r") == 4
    with pytest.raises(ScheduleError, match="not finished after 5 rounds"):
        compiled.evaluate({"e": [(i, i + 1) for i in range(9)]})


def test_row_limit() -> None:
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(COUNTING), Limits(rows=30)).evaluate({"start": [(0,)]})
    assert caught.value.message == "number: not finished at 30 rows; no partial answer is returned"
    assert caught.value.reason == "rule game/number#2 still adds rows, the newest is number(30)"


def test_components_come_after_what_they_read() -> None:
    text = """
        .decl e(a: node)
        .input e
        .decl a(a: node)
        .decl b(a: node)
        .decl c(a: node)
        .decl d(a: node)
        d(X) :- c(X).
        a(X) :- e(X), not c(X).
        b(X) :- a(X).
        b(X) :- c(X).
        c(X) :- b(X), e(X).
    """
    strata = stratify(program(text))
    assert [component.relations for component in strata.components] == [("a", "b", "c"), ("d",)]
    first = strata.components[0]
    assert first.negated == ("c",)
    assert [(sub.relations, sub.recursive) for sub in first.subs] == [(("a",), False), (("b", "c"), True)]
    assert first.subs[1].inputs == ("a",)
    assert strata.base == ("e",)


def test_components_of_a_long_chain() -> None:
    chain = {f"n{i}": [f"n{i + 1}"] for i in range(50_000)}
    assert len(strong_components(["n0"], lambda name: chain.get(name, []))) == 50_001


def test_a_refusal_cuts_the_path_it_depends_on() -> None:
    text = """
        .decl move(from: node, to: node)
        .input move
        .decl blocked(node: node)
        .input blocked
        .decl far(from: node, to: node)
        .decl stop(node: node)
        far(X, Y) :- move(X, Y).
        far(X, Z) :- far(X, Y), move(Y, Z), not stop(Z).
        stop(Z) :- far(Y, Z), move(Y, Z), blocked(Z).
    """
    model = compile_program(program(text)).evaluate(
        {"move": [(i, i + 1) for i in range(8)], "blocked": [(5,)]}
    )
    assert [row for row in model.rows("far") if row[0] == 0] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert model.rows("stop") == [(5,)]
