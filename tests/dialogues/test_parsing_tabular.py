"""Tables: header, quotes, rows of one dialogue below each other."""

import pytest

from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedUtterance
from dialogues.parsing.row_errors import RowError
from dialogues.parsing.seen_ids import SeenIds
from tests.dialogues.reading import HEADER, dialogue, error, read, texts


def test_csv_reads_quoted_commas_quotes_and_line_breaks() -> None:
    parsed = dialogue(HEADER + 'd1,A,"one, ""two""\r\nthree"\r\nd1,B,four\r\n', "csv")
    assert texts(parsed) == ['one, "two"\nthree', "four"]
    assert (parsed.external_id, parsed.line) == ("d1", 2)


def test_csv_columns_come_in_any_order_and_extra_ones_are_kept() -> None:
    parsed = dialogue(",Text,Speaker,time,Dialogue_ID,mood\n0,Hi,A,10:00,d1,glad\n1,Ho,B,,d1,\n", "csv")
    assert parsed.utterances[0] == ParsedUtterance(
        "A", "Hi", time="10:00", metadata={"column_1": "0", "mood": "glad"}
    )
    assert parsed.utterances[1] == ParsedUtterance("B", "Ho", metadata={"column_1": "1"})


def test_tsv_keeps_commas() -> None:
    assert texts(dialogue("dialogue_id\tspeaker\ttext\nd1\tA\tone, two\n", "tsv")) == ["one, two"]


@pytest.mark.parametrize("data", ["", "\n\n", "d1,A,Hello\n", '"dialogue_id\n'])
def test_a_missing_header_refuses_the_file(data: str) -> None:
    problem = error(data, "csv")
    assert problem.fatal
    assert problem.code in {"no_header", "bad_csv"}


def test_semicolons_separate_where_the_header_has_them() -> None:
    parsed = dialogue('dialogue_id;speaker;text\nd1;A;Hi, you\nd1;B;"one; two"\n', "csv")
    assert texts(parsed) == ["Hi, you", "one; two"]


def test_a_column_named_twice_refuses_the_file() -> None:
    assert error("dialogue_id,speaker,text,Text\n", "csv").code == "double_column"


def test_one_bad_row_refuses_its_whole_dialogue_and_no_other() -> None:
    rows = "d1,A,a\nd2,A,b\nd2,B,\nd2,A,c\nd3,A,d\n"
    first, problem, last = read(HEADER + rows, "csv")
    assert isinstance(first, ParsedDialogue)
    assert isinstance(last, ParsedDialogue)
    assert (first.external_id, last.external_id) == ("d1", "d3")
    assert isinstance(problem, RowError)
    assert (problem.line, problem.reason) == (4, "text is empty.")


def test_a_row_with_too_many_columns_names_both_counts() -> None:
    problem = error(HEADER + "d1,A,Hello, you\n", "csv")
    assert problem.reason == "The row has 4 columns, the first line names 3."


def test_a_dialogue_that_begins_again_is_an_error() -> None:
    *_, problem = read(HEADER + "d1,A,a\nd2,A,b\nd1,B,c\nd1,A,d\n", "csv")
    assert isinstance(problem, RowError)
    assert (problem.line, problem.code, problem.external_id) == (4, "id_again", "d1")


def test_an_unsorted_file_is_refused_as_a_whole() -> None:
    problem = read(HEADER + "d1,A,a\nd2,A,b\n" * 2000, "csv")[-1]
    assert isinstance(problem, RowError)
    assert problem.fatal


def test_an_open_quote_costs_its_line_and_the_dialogues_beside_it() -> None:
    rows = 'd1,A,a\nd2,A,b\nd2,B,"open\nd3,A,c\nd4,A,d\n'
    results = read(HEADER + rows, "csv")
    assert [(r.line, r.code) for r in results if isinstance(r, RowError)] == [
        (4, "bad_csv"),
        (3, "neighbour_unreadable"),
        (5, "neighbour_unreadable"),
    ]
    assert [r.external_id for r in results if isinstance(r, ParsedDialogue)] == ["d1", "d4"]


def test_broken_quotes_inside_a_field_are_an_error() -> None:
    results = read(HEADER + 'd1,A,"He said "hi" to me"\n', "csv")
    assert [r.code for r in results if isinstance(r, RowError)] == ["bad_csv"]


def test_a_line_within_one_dialogue_that_is_not_utf8_refuses_only_that_dialogue() -> None:
    rows = "d1,A,a\nd1,B,甲\nd1,A,b\nd2,A,c\n".encode("gb18030")
    results = read(HEADER.encode() + rows, "csv")
    assert [r.code for r in results if isinstance(r, RowError)] == ["not_utf8", "neighbour_unreadable"]
    assert [r.external_id for r in results if isinstance(r, ParsedDialogue)] == ["d2"]


def test_seen_ids_stays_exact_while_it_grows() -> None:
    seen = SeenIds()
    assert all(seen.add(f"d{number}") for number in range(20_000))
    assert not any(seen.add(f"d{number}") for number in range(0, 20_000, 7))
