"""The formats that can be imported, by name, and the function that reads any of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dialogues.parsing.compressed import DAMAGED
from dialogues.parsing.file_type import HEAD_BYTES, detect_other_type
from dialogues.parsing.key_map import KeyMap
from dialogues.parsing.lines import Rewound
from dialogues.parsing.parsed_dialogue import Limits, ParsedRow, Reader
from dialogues.parsing.readers import (
    assessment,
    csv_tsv,
    dialeval,
    diamante,
    diqad,
    eou,
    mapped_json,
    messages,
    sharegpt,
    tabbed,
    utterances,
    xlsx,
)
from dialogues.parsing.row_errors import RowError
from projects.models import Project, Protocol

MappedReader = Callable[[BinaryIO, Limits, KeyMap], Iterator[ParsedRow | RowError]]


@dataclass(frozen=True, slots=True)
class Format:
    """description: one sentence for people; example: a file of one dialogue, as text.

    protocol: of the projects that can import it; None for all. has_runs: the file belongs to a numbered run.
    read_mapped: for formats that take a map of keys. is_binary: the example shows the table, not the bytes.
    """

    name: str
    description: str | Promise
    extension: str
    example: str
    read: Reader
    protocol: str | None = None
    has_runs: bool = False
    read_mapped: MappedReader | None = None
    is_binary: bool = False


_ALL = [
    Format(
        "messages",
        _("JSON Lines of chat messages; other keys are kept as metadata."),
        "jsonl",
        '{"id": "d1", "messages": [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "你好！"}]}\n',
        messages.read,
    ),
    Format(
        "sharegpt",
        _("JSON Lines of ShareGPT conversations; other keys are kept as metadata."),
        "jsonl",
        '{"conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hello!"}]}\n',
        sharegpt.read,
    ),
    Format(
        "diamante",
        _("JSON Lines of dialogues with the candidates that each utterance was chosen among."),
        "jsonl",
        '{"conversation": [{"utterance": "最近在看什么书？", "response_candidates": []},'
        ' {"utterance": "在看《三体》", "response_candidates": ["在看小说", "在看《三体》"]}]}\n',
        diamante.read,
    ),
    Format(
        "dialeval",
        _("A JSON array of helpdesk dialogues with the annotations of several people (NTCIR DialEval)."),
        "json",
        '[{"id": "d1", "turns": [{"sender": "customer", "utterances": ["No sound."]}, {"sender": "helpdesk",'
        ' "utterances": ["Is it muted?"]}], "annotations": [{"nugget": ["CNUG0", "HNUG"],'
        ' "quality": {"A": 0, "S": -1, "E": 1}}]}]\n',
        dialeval.read,
    ),
    Format(
        "diqad",
        _("JSON Lines of question-and-answer dialogues with a quality label and its reasons (DiQAD)."),
        "jsonl",
        '{"dialogue": [{"role": "user", "content": "银行卡号忘了怎么查"}, {"role": "assistant", "content":'
        ' "带身份证去柜台"}], "label": 1, "reason": ["incomplete"], "turns": 1}\n',
        diqad.read,
    ),
    Format(
        "assessment",
        _("JSON of people's ratings of conversations with systems, for live assessments; texts are optional."),
        "json",
        '{"metadata": {"score": {"fun": {"positive": true, "qc": true, "max": 100}}, "model": ["mine"], "qc-model":'
        ' "degraded"},\n "data": [{"hit": "h1", "assignment": "a1", "worker": "w1", "duration in seconds": 1500,'
        ' "result":\n   [{"model": "mine", "score": {"fun": 80}}, {"model": "degraded", "score": {"fun": 5}}]}]}\n',
        assessment.read,
        protocol=Protocol.ASSESSMENT,
        has_runs=True,
    ),
    Format(
        "json",
        _("JSON of any other shape: an array, nested keys or message trees; you say under which keys the dialogues, "
          "speakers and texts are."),
        "json",
        '{"data": [\n  {"turns": [{"who": "Ann", "said": {"text": "Hello"}},'
        ' {"who": "Ben", "said": {"text": "Hi"}}]}\n]}\n',
        mapped_json.read,
        read_mapped=mapped_json.read_mapped,
    ),
    Format(
        "csv",
        _("A table with the columns dialogue_id, speaker, text and, if wanted, time; "
          "the rows of one dialogue below each other. Commas or semicolons."),
        "csv",
        "dialogue_id,speaker,text,time\nd1,A,Hello,2024-05-01T10:00\nd1,B,\"Hello, you!\",2024-05-01T10:01\n",
        csv_tsv.read_csv,
    ),
    Format(
        "tsv",
        _("As csv, with tabs between the columns."),
        "tsv",
        "dialogue_id\tspeaker\ttext\nd1\tA\tHello\nd1\tB\tHello, you!\n",
        csv_tsv.read_tsv,
    ),
    Format(
        "xlsx",
        _("As csv, as the first sheet of an Excel file."),
        "xlsx",
        "dialogue_id\tspeaker\ttext\nd1\tA\tHello\nd1\tB\tHello, you!\n",
        xlsx.read,
        is_binary=True,
    ),
    Format(
        "tabs",
        _("One dialogue per line, with tabs between the utterances; no line of column names."),
        "tsv",
        "Hello\tHello, you!\tHow was your day?\n",
        tabbed.read,
    ),
    Format(
        "eou",
        _("One dialogue per line, with __eou__ between the utterances."),
        "txt",
        "Hello __eou__ Hello, you! __eou__ How was your day?\n",
        eou.read,
    ),
    Format(
        "utterances",
        _("One utterance per line, a blank line between dialogues."),
        "txt",
        "Hello\nHello, you!\n\nHow was your day?\nLong.\n",
        utterances.read,
    ),
]  # fmt: skip
FORMATS: Mapping[str, Format] = {each.name: each for each in _ALL}


def formats_of(project: Project) -> list[Format]:
    """The formats that the project can import."""
    return [each for each in FORMATS.values() if each.protocol in (None, project.protocol)]


def parse(
    stream: BinaryIO, format: str, limits: Limits | None = None, key_map: KeyMap | None = None
) -> Iterator[ParsedRow | RowError]:
    """Rows and refused rows of a file, in order, in memory that does not depend on its size.

    No input raises; a RowError with `fatal` ends the file. Raises KeyError for an unknown format. key_map: for formats
    with `read_mapped`. Message trees are held in memory.
    """
    limits, read = limits or Limits(), _reader(FORMATS[format], key_map)
    rows = read(stream, limits) if FORMATS[format].is_binary else _read_text(stream, limits, read)
    return _limit_dialogues(_refuse_damaged(rows), limits)


def _reader(format: Format, key_map: KeyMap | None) -> Reader:
    """The reader of the format, with the map if it takes one."""
    if (read_mapped := format.read_mapped) and key_map:
        return lambda stream, limits: read_mapped(stream, limits, key_map)
    return format.read


def _read_text(stream: BinaryIO, limits: Limits, read: Reader) -> Iterator[ParsedRow | RowError]:
    """What the reader finds, or why the file is not text."""
    head = stream.read(HEAD_BYTES)
    if problem := detect_other_type(head):
        yield problem
        return
    yield from read(cast(BinaryIO, Rewound(head, stream)), limits)


def _refuse_damaged(results: Iterator[ParsedRow | RowError]) -> Iterator[ParsedRow | RowError]:
    """The same results; a compressed stream that breaks off ends them with an error."""
    line = 1
    try:
        for result in results:
            line = result.line
            yield result
    except EOFError:
        yield RowError(line, "archive_cut_off", fatal=True)
    except DAMAGED as error:
        yield RowError(line, "bad_archive", {"detail": str(error)[:200]}, fatal=True)


def _limit_dialogues(
    results: Iterator[ParsedRow | RowError], limits: Limits
) -> Iterator[ParsedRow | RowError]:
    count = 0
    for result in results:
        if not isinstance(result, RowError):
            count += result.dialogue_count
            if count > limits.dialogues:
                yield RowError(result.line, "too_many_dialogues", {"limit": limits.dialogues}, fatal=True)
                return
        yield result
        if isinstance(result, RowError) and result.fatal:
            return
