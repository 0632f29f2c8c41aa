"""Lists of people: what lines mean, and what is wrong with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.invitations.invitees import Invitee, check_invitee, parse_people


def test_a_line_is_name_address_role_language() -> None:
    (line,) = parse_people("Nora Ng,nora@example.org,annotator,zh\n")
    assert line.invitee == Invitee(("annotator",), "Nora Ng", "nora@example.org", "zh-hans")
    assert line.problems == []


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_spreadsheets_separate_with_commas_semicolons_and_tabs(separator: str) -> None:
    cells = ["Nora", "nora@example.org", "Annotator + Quality controller", "English"]
    (line,) = parse_people(
        "\ufeff" + separator.join(["name", "email", "role", "language"]) + "\r\n" + separator.join(cells)
    )
    assert (line.number, line.problems) == (2, [])
    assert line.invitee == Invitee(("annotator", "controller"), "Nora", "nora@example.org", "en")


def test_roles_are_understood_in_chinese() -> None:
    (line,) = parse_people("小娜,,标注员,中文")
    assert line.invitee == Invitee(("annotator",), "小娜", "", "zh-hans")
    assert line.problems == []


def test_empty_lines_are_left_out_and_numbers_are_the_editors() -> None:
    lines = parse_people("name,email,role,language\n\nNora,,annotator,\n,,,\nOle,,trainer")
    assert [line.number for line in lines] == [3, 5]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (",,annotator,", "The line needs a name or an email address."),
        ("Nora,nora@,annotator,", "“nora@” is not an email address."),
        ("Nora,,boss,", "There is no role “boss”."),
        ("Nora,,,", "The line needs at least one of the roles"),
        ("Nora,,annotator,fr", "The language must be one of: en, zh."),
        (f"{'n' * 81},,annotator,", "The name has more than 80 characters."),
        ("Nora,,annotator,en,more", "The line has more than 4 cells."),
        ("No\0ra,,annotator,", "The name contains NUL."),
    ],
)
def test_each_problem_is_named(line: str, problem: str) -> None:
    (parsed,) = parse_people(line)
    (text,) = parsed.problems
    assert text.startswith(problem)


def test_an_address_may_stand_there_once() -> None:
    first, second = parse_people("Nora,nora@example.org,annotator\nN.,NORA@example.org,annotator")
    assert first.problems == []
    assert second.problems == ["The address is already in line 1."]


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    for line in parse_people(text):
        assert line.problems or not check_invitee(line.invitee)
