"""Whatever the bytes: no reader raises, and no line is lost without a word."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogues.parsing.formats import FORMATS, parse
from dialogues.parsing.lines import BOM
from dialogues.parsing.parsed_dialogue import Limits, ParsedDialogue, ParsedRow
from dialogues.parsing.row_errors import RowError
from dialogues.parsing.value_checks import CONTROL, UNSTORABLE

LIMITS = Limits(utterance_chars=50, utterances=5, line_bytes=400)
JSON_FORMATS = ["messages", "sharegpt", "diamante"]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
NAMES = """id messages role content conversations from value conversation utterance response_candidates speaker
    action source edit_distance model_version language domain time select revise"""
names = st.sampled_from(NAMES.split())
likely = st.recursive(
    names | st.text(max_size=60) | json_values,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)
FRAGMENTS = ['"', ",", "\t", "\n", "\r\n", "__eou__", '"a\nb"', "\x00", "{", "[", "你好 مرحبا", "\ufeff"]
ROWS = [
    "dialogue_id,speaker,text\n",
    "dialogue_id\tspeaker\ttext\n",
    "d1,A,hi\n",
    "d2\tA\thi\n",
    '{"messages":[]}\n',
]
fragments = st.sampled_from([*(part.encode() for part in FRAGMENTS + ROWS), b"\xff"])


def check(data: bytes, format: str) -> list[ParsedRow | RowError]:
    results = list(parse(io.BytesIO(data), format, LIMITS))
    for result in results:
        assert result.line >= 1
        if isinstance(result, RowError):
            assert result.reason
            assert result.remedy
            json.dumps(result.params, allow_nan=False).encode()
            assert not UNSTORABLE.search(str(result))
        elif isinstance(result, ParsedDialogue):
            check_dialogue(result)
    return results


def check_dialogue(dialogue: ParsedDialogue) -> None:
    assert 1 <= len(dialogue.utterances) <= LIMITS.utterances
    json.dumps(dialogue.metadata, allow_nan=False).encode()
    for utterance in dialogue.utterances:
        assert utterance.text.strip()
        assert len(utterance.text) <= LIMITS.utterance_chars
        for text in (utterance.text, utterance.speaker, *utterance.candidates):
            assert not CONTROL.search(text)
            text.encode()


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.binary(max_size=600) | st.lists(fragments, max_size=30).map(b"".join))
def test_no_bytes_raise(format: str, data: bytes) -> None:
    check(data, format)


@pytest.mark.parametrize("format", [*JSON_FORMATS, "eou"])
@given(rows=st.lists(st.binary(max_size=80).filter(lambda raw: b"\n" not in raw and raw.strip()), max_size=8))
def test_every_line_is_a_dialogue_or_an_error(format: str, rows: list[bytes]) -> None:
    results = check(b"\n".join(rows), format)
    ended = any(isinstance(result, RowError) and result.fatal for result in results)
    blank = sum(1 for place, row in enumerate(rows) if _blank(row if place else row.removeprefix(BOM)))
    assert ended or len(results) == len(rows) - blank


def _blank(row: bytes) -> bool:
    try:
        return not row.decode().strip()
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("format", JSON_FORMATS)
@given(rows=st.lists(likely, max_size=4), ascii_only=st.booleans())
def test_any_json_is_a_dialogue_or_an_error(format: str, rows: list[object], ascii_only: bool) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    check("\n".join(lines).encode(errors="surrogatepass"), format)


visible_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    str.strip
)


@given(
    texts=st.lists(
        visible_texts | st.sampled_from(['say "hi"', "a,b", "x\ny", '"', '"",\n"']), min_size=1, max_size=5
    )
)
def test_a_written_csv_is_read_back(texts: list[str]) -> None:
    import csv

    out = io.StringIO()
    csv.writer(out).writerows([["dialogue_id", "speaker", "text"], *(["d1", "A", text] for text in texts)])
    (dialogue,) = check(out.getvalue().encode(), "csv")
    assert isinstance(dialogue, ParsedDialogue)
    assert [utterance.text for utterance in dialogue.utterances] == texts


@given(
    texts=st.lists(visible_texts, min_size=1, max_size=5),
    candidates=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), max_size=7),
)
def test_diamante_texts_and_candidates_survive(texts: list[str], candidates: list[str]) -> None:
    row = {"conversation": [{"utterance": text, "response_candidates": candidates} for text in texts]}
    data = json.dumps(row, ensure_ascii=False).encode()
    (dialogue,) = parse(io.BytesIO(data), "diamante")
    assert isinstance(dialogue, ParsedDialogue)
    assert [utterance.text for utterance in dialogue.utterances] == texts
    assert all(utterance.candidates == tuple(candidates) for utterance in dialogue.utterances)
