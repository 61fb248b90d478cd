"""Parameter overrides: for all, per architecture, per kernel; ranges and provenance."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluate.support import frame_of, pack_of, report_frames

from profrx.evaluate.outcomes import OUTCOMES, run
from profrx.evaluate.program import Program
from profrx_parsers.errors import UsageError

PACK = pack_of(
    """
    metric sm   { unit % meaning "sm" source ncu "sm" }
    metric time { unit ns meaning "time" source ncu "time" }
    param common.least = 5 us in 0 us .. 1 ms "shared"
    rule r { title "r" when sm > min_sm because "b" param min_sm = 50 % in 0 % .. 100 % "m" }
    rule s { title "s" when sm > min_sm because "b" param min_sm = 60 % in 0 % .. 100 % "m" }
    rule t { title "t" when time > common.least because "b" }
    """
)


def words(rule: str, params: dict[str, Any], **columns: list[object]) -> list[str]:
    frame = frame_of({"sm": [30.0, 55.0, 70.0], "time": [1e3, 6e3, 9e6]}, **columns)
    outcomes = run(Program(PACK, params), report_frames(frame))
    return [OUTCOMES[code] for code in outcomes.codes[rule]]


def test_defaults() -> None:
    assert words("r", {}) == ["not fired", "fired", "fired"]
    assert words("t", {}) == ["not fired", "fired", "fired"]


@pytest.mark.parametrize("value", ["20 %", "0.2 ratio", {"value": "20 %"}])
def test_a_value_is_text_with_a_unit(value: Any) -> None:
    assert words("r", {"r.min_sm": value}) == ["fired"] * 3
    assert words("s", {"r.min_sm": value}) == ["not fired", "not fired", "fired"]


@pytest.mark.parametrize("value", [65, 65.0, "65", {"value": 65}, [{"value": "65", "kernel": "*"}]])
def test_a_bare_number_is_not_guessed_to_be_a_percentage(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        words("r", {"r.min_sm": value})
    assert caught.value.next_step == "write 65 % or 0.65 ratio"


@pytest.mark.parametrize("value", [0.65, "0.65"])
def test_a_bare_share_could_mean_two_things(value: Any) -> None:
    with pytest.raises(UsageError, match="no unit") as caught:
        words("r", {"r.min_sm": value})
    assert caught.value.next_step == "write 65 % or 0.65 ratio, or 0.65 % if so little is meant"


def test_a_bare_number_is_taken_where_it_means_one_thing() -> None:
    """Zero is zero in every unit, and a count needs no scale."""
    assert words("r", {"r.min_sm": 0}) == ["fired"] * 3
    pack = pack_of(
        """
        metric n { unit sectors meaning "n" source ncu "n" }
        rule r { title "r" because "b" when n > few
                 param few = 5 sectors in 0 sectors .. 99 sectors "m" }
        """
    )
    outcomes = run(Program(pack, {"r.few": 7}), report_frames(frame_of({"n": [6.0, 8.0]})))
    assert [OUTCOMES[code] for code in outcomes.codes["r"]] == ["not fired", "fired"]


def test_a_time_needs_its_unit() -> None:
    with pytest.raises(UsageError) as caught:
        words("t", {"common.least": 7})
    assert caught.value.next_step == "write 7 us"


def test_a_bare_name_reaches_every_declaration_that_has_it() -> None:
    assert words("r", {"min_sm": "99 %"}) == words("s", {"min_sm": "99 %"}) == ["not fired"] * 3


def test_shared_parameters_by_their_dotted_name() -> None:
    assert words("t", {"common.least": "0.5 us"}) == ["fired"] * 3


def test_per_architecture_and_per_kernel_the_last_that_holds_wins() -> None:
    entries = [
        {"value": "20 %", "kernel": "*gemm*"},
        {"value": "80 %", "arch": "10.0 .. 12.0"},
    ]
    got = words("r", {"r.min_sm": entries}, kernel=["sgemm", "copy", "sgemm"], arch=[9.0, 9.0, 12.0])
    assert got == ["fired", "fired", "not fired"]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"r.min_sm": "120 %"}, "parameter-out-of-range"),
        ({"r.min_sm": "5 us"}, "bad-parameter"),
        ({"r.min_sm": "a lot"}, "bad-parameter"),
        ({"r.min_sm": {"kernel": "*"}}, "bad-parameter"),
        ({"r.nothing": 1}, "unknown-parameter"),
        ({"nobody.min_sm": 1}, "unknown-parameter"),
    ],
)
def test_mistakes_are_usage_errors_with_a_next_step(params: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        _ = Program(PACK, params).params
    assert caught.value.code == code
    assert caught.value.next_step


def test_the_digest_counts_shared_parameters_and_conditions() -> None:
    def digest(params: dict[str, Any], rule: str) -> str:
        program = Program(PACK, params)
        declaration = program.owners[rule]
        return program.params.digest(declaration, program.shared_params(declaration))

    assert digest({}, "t") != digest({"common.least": "6 us"}, "t")
    assert digest({}, "r") == digest({"common.least": "6 us"}, "r")
    assert digest({"r.min_sm": "20 %"}, "r") != digest({"r.min_sm": [{"value": "20 %", "kernel": "*"}]}, "r")
