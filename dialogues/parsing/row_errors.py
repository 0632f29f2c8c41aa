"""Line errors of an import: the error itself, and the sentences for every code, translated when they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

TYPE_NAMES = {
    "text": _("text"),
    "number": _("a number"),
    "integer": _("a whole number, 0 or more"),
    "id": _("text or a whole number"),
    "list": _("a list"),
    "object": _("an object"),
    "boolean": _("true or false"),
    "null": _("null"),
    "missing": _("missing"),
}

_UTF8 = _("Save the file as UTF-8, for example with: iconv -f GB18030 -t UTF-8 OLD > NEW.")
_WHOLE_FILE = _("Check that the file was downloaded or copied completely, then choose it again.")
_QUOTES = _("JSON has every key and every text in double quotation marks.")
_ONE_PER_LINE = _(
    "Choose the format json, which reads any shape, or write one JSON object a line; jq -c '.[]' turns an array into"
    " lines, jq -c . an object into a line."
)
_CONTIGUOUS = _(
    "Put all rows of one dialogue below each other, for example by sorting the file by dialogue_id."
)

ROW_ERRORS = {
    # the file
    "not_text": (_("This is a %(what)s file, not text."), _("Unpack it, or save it as text in UTF-8.")),
    "picture": (
        _("This is a picture (%(what)s), not text."),
        _("Choose the file that holds the dialogues."),
    ),
    "document": (
        _("This is a %(what)s document, not text."),
        _("Choose a file of dialogues, or save it as text."),
    ),
    "old_office": (
        _("This is an old or protected Office file, not text."),
        _("Save a table as .xlsx without a password, or as CSV in UTF-8."),
    ),
    "binary": (_("This file is not text."), _("Choose the file that holds the dialogues.")),
    "cut_off": (_("The file ends in the middle of a record."), _WHOLE_FILE),
    "empty_list": (
        _("The list is empty: there are no dialogues in this file."),
        _("Choose the file that holds the dialogues."),
    ),
    "wrong_encoding": (_("The file is encoded in %(what)s, not in UTF-8."), _UTF8),
    "file_too_large": (_("The file is larger than %(limit)s bytes."), _("Split it into several files.")),
    "too_many_dialogues": (
        _("The file holds more than %(limit)s dialogues."),
        _("Split it into several files."),
    ),
    "json_array": (_("The file is one JSON array; this format has one JSON object per line."), _ONE_PER_LINE),
    "json_spread": (_("The file spreads one JSON object over several lines."), _ONE_PER_LINE),
    "no_header": (
        _("The first line must name the columns; these are missing: %(missing)s. Found: %(found)s."),
        _(
            "Begin the file with the line dialogue_id, speaker, text and, if wanted, time, and choose csv or tsv."
        ),
    ),
    "double_column": (_("The column %(column)s is named twice."), _("Give every column its own name.")),
    "not_array": (
        _("This format is one JSON array, and the file does not begin with [."),
        _("Check that it is the right format; jq -s . puts lines into an array."),
    ),
    "after_array": (_("Something follows after the end of the array."), _("One file is one array.")),
    "no_key_map": (
        _("It is not clear under which keys the dialogues of this file are."),
        _("Name the keys, for example dialogues=data,utterances=messages,speaker=role,text=content."),
    ),
    "no_entries": (
        _("The file has nothing at the path %(path)s."),
        _("Correct the path of keys to the dialogues; leave it out if the dialogues are at the top."),
    ),
    "too_many_messages": (
        _("The file holds more than %(limit)s messages with parents."),
        _("Split it into several files, with whole trees in each."),
    ),
    "archive_cut_off": (_("The packed file ends too early."), _WHOLE_FILE),
    "bad_archive": (
        _("The file cannot be unpacked: %(detail)s."),
        _("Check that it was uploaded completely; compress it again, or upload it uncompressed."),
    ),
    "xlsx_cut_off": (_("The end of this Excel file is missing."), _WHOLE_FILE),
    "zip_not_xlsx": (
        _("This is a ZIP archive, not an Excel file."),
        _("Unpack it, and choose the file that holds the dialogues."),
    ),
    "not_xlsx": (
        _("This is not an Excel file that can be read."),
        _("Save it as .xlsx, or as CSV in UTF-8; a password has to be removed."),
    ),
    "entry_too_long": (
        _("An entry is longer than %(limit)s bytes, or its end is missing."),
        _("Look for a missing bracket or quote from here on."),
    ),
    # the line
    "line_too_long": (
        _("The line is longer than %(limit)s bytes."),
        _("Write one dialogue per line; jq -c '.[]' turns a JSON array into lines."),
    ),
    "not_utf8": (_("Byte %(column)s of the line (0x%(byte)s) is not UTF-8."), _UTF8),
    "line_cut_off": (
        _("The line ends in the middle of a record."),
        _("Complete the record on this line, or leave it out."),
    ),
    "not_json": (
        _("This is not JSON: %(detail)s (character %(column)s)."),
        _("Correct this place. If every line is refused, choose the format that fits the file."),
    ),
    "json_quote": (
        _("This is not valid JSON: a quotation mark is missing after “%(near)s” (character %(column)s)."),
        _("Close the text with a double quotation mark."),
    ),
    "json_quote_inside": (
        _(
            "This is not valid JSON: after “%(near)s”, a quotation mark ends the text too early (character %(column)s)."
        ),
        _('Write \\" for a quotation mark inside a text.'),
    ),
    "json_unquoted": (
        _(
            "This is not valid JSON: a double quotation mark is missing before “%(near)s” (character %(column)s)."
        ),
        _QUOTES,
    ),
    "json_word": (
        _("This is not valid JSON: “%(near)s” is not a JSON value (character %(column)s)."),
        _("JSON writes null, true and false; put a text in double quotation marks."),
    ),
    "json_comma": (
        _("This is not valid JSON: a comma is missing before “%(near)s” (character %(column)s)."),
        _("Put a comma between two values."),
    ),
    "json_colon": (
        _("This is not valid JSON: a colon is missing before “%(near)s” (character %(column)s)."),
        _("Put a colon between a key and its value."),
    ),
    "json_comma_extra": (
        _("This is not valid JSON: a comma has no value after it (character %(column)s)."),
        _("Remove the comma before the closing bracket."),
    ),
    "json_comma_after": (
        _("This is not valid JSON: a comma follows the record (character %(column)s)."),
        _(
            "Remove the comma. If every line ends in one, put all lines into [ ], without the last comma, and choose"
            " the format json."
        ),
    ),
    "json_bracket": (
        _(
            "This is not valid JSON: “%(near)s” does not close the bracket that is open (character %(column)s)."
        ),
        _("Look for a bracket that is missing or is one too many before this place."),
    ),
    "json_control": (
        _("This is not valid JSON: a text holds a tab or another control character (character %(column)s)."),
        _("Write \\t for a tab, and remove other control characters."),
    ),
    "json_backslash": (
        _("This is not valid JSON: “%(near)s” is not a valid escape (character %(column)s)."),
        _("Write \\\\ for a backslash inside a text."),
    ),
    "json_extra": (
        _("This is not valid JSON: “%(near)s” follows after the end of the record (character %(column)s)."),
        _("Look for a bracket that is one too many, or write one record a line."),
    ),
    "not_finite": (_("JSON has no number %(number)s."), _("Leave the value out, or write null.")),
    "number_too_long": (_("A number has too many digits."), _("Write it as text, in quotes.")),
    "too_deep": (
        _("Lists and objects are nested deeper than %(limit)s levels."),
        _("Flatten the value, or leave it out."),
    ),
    "bad_csv": (
        _("The quotes of this row are broken: %(detail)s."),
        _('Put a field that holds quotes or line breaks in quotes, and double the quotes inside it: "".'),
    ),
    "wrong_columns": (
        _("The row has %(found)s columns, the first line names %(wanted)s."),
        _("Quote fields that contain the separator."),
    ),
    # the value
    "wrong_type": (
        _("%(path)s must be %(wanted)s, is %(found)s."),
        _("Correct the value, or leave the row out."),
    ),
    "no_key": (
        _("The key “%(key)s” is not in %(path)s. Keys there: %(found)s."),
        _("Choose the key that the file uses, or correct the row if only this one lacks it."),
    ),
    "no_key_at_all": (
        _("The key “%(key)s” is not in %(path)s, which is %(found)s."),
        _("Choose the key that the file uses, or correct the row if only this one differs."),
    ),
    "empty": (_("%(path)s is empty."), _("Write a text, or leave the row out.")),
    "too_long": (
        _("%(path)s has %(found)s characters, more than the %(limit)s allowed."),
        _("Shorten it; extra information can go under a key or column of another name."),
    ),
    "too_many": (_("%(path)s has more than %(limit)s entries."), _("Split the dialogue into several.")),
    "control_character": (
        _("%(path)s holds the control character %(character)s as its character %(column)s."),
        _("Remove it: apart from tab and line break, control characters cannot be shown or stored."),
    ),
    "half_character": (
        _("%(path)s holds half a character (%(character)s) as its character %(column)s."),
        _("Write the character itself in UTF-8, or both halves of the escape."),
    ),
    "unknown_value": (_("%(path)s is “%(found)s”."), _("Write one of: %(wanted)s.")),
    "wrong_length": (
        _("%(path)s does not have one entry for each of the %(wanted)s turns."),
        _("Write one for every turn; CNaN or HNaN if a turn has none."),
    ),
    "annotation_misfit": (
        _("%(path)s does not fit the project's questions: %(detail)s"),
        _("Correct the annotation, or import into a project with the questions that it answers."),
    ),
    "unknown_action": (_("%(path)s is “%(found)s”."), _("Write select, revise or rewrite, or leave it out.")),
    "source_missing": (
        _("%(path)s names no source among the candidates, though the action is %(action)s."),
        _("Write the place of the source candidate, from 0, or leave the action out."),
    ),
    "source_outside": (
        _("%(path)s is %(found)s, but there are %(limit)s candidates, counted from 0."),
        _("Write the place of the source candidate, from 0, or leave action and source out."),
    ),
    "select_edited": (
        _("%(path)s is %(found)s, though a selected candidate is not edited."),
        _("Write 0, or the action revise."),
    ),
    # ratings of a live assessment
    "not_assessment": (
        _("This format is one JSON object with the keys metadata and data, in this order."),
        _("Check that it is the right format; jq '{metadata, data}' puts the keys in order."),
    ),
    "score_outside": (
        _("%(path)s is %(found)s, outside 0 to %(limit)s."),
        _("Correct the value, or the maximum in the metadata."),
    ),
    "other_statements": (
        _(
            "The score “%(found)s” of the file does not fit the project: there is no statement of this name, or"
            " its scale is reversed in only one of the two."
        ),
        _("Give the project the statements of the file in its settings: %(wanted)s."),
    ),
    "other_system": (
        _("The system “%(found)s” is degraded in the file or in the project, but not in both."),
        _("Rename the system in the file."),
    ),
    # the dialogue
    "id_again": (
        _("The dialogue %(id)s begins again here, after rows of other dialogues; none of it is imported."),
        _CONTIGUOUS,
    ),
    "id_twice": (
        _("The id %(id)s was already used in this file."),
        _("Give every dialogue its own id, or remove the repeated row."),
    ),
    "parent_missing": (
        _("The message that this one answers, %(id)s, is not in the file or is refused."),
        _("Add that message; otherwise this one and its replies are left out."),
    ),
    "parent_circle": (
        _("The replies to the message %(id)s lead back to the message itself."),
        _("Correct its parent; it and the messages around it are left out."),
    ),
    "neighbour_unreadable": (
        _("The dialogue %(id)s is refused, since the unreadable line %(bad)s may be a part of it."),
        _("Correct that line and import the file again."),
    ),
}

WITHOUT_LINE = frozenset(
    [
        "not_text",
        "picture",
        "document",
        "old_office",
        "binary",
        "wrong_encoding",
        "empty_list",
        "no_key_map",
        "no_entries",
        "bad_archive",
        "archive_cut_off",
        "not_xlsx",
        "zip_not_xlsx",
        "xlsx_cut_off",
    ]
)  # about the whole file


def explain_row_error(code: str, params: Mapping[str, Any]) -> tuple[str, str]:
    """Cause and remedy in the active language. Raises KeyError for an unknown code."""
    cause, remedy = ROW_ERRORS[code]
    values = dict(params)
    if code == "wrong_type" and values["found"] == "missing":
        cause = _("%(path)s is missing; it must be %(wanted)s.")
    if code == "wrong_type":
        values |= {name: TYPE_NAMES[values[name]] for name in ("wanted", "found")}
    values |= {name: intcomma(value) for name, value in values.items() if isinstance(value, int)}
    if code == "no_key_at_all":
        values["found"] = TYPE_NAMES[values["found"]]
    if values.get("path") == "":
        record = gettext("the record")
        values["path"] = capfirst(record) if str(cause).startswith("%(path)s") else record
    if detail := values.get("detail"):
        values["detail"] = gettext(str(detail))  # the message of Python's json or csv module
    return str(cause) % values, str(remedy) % values


@dataclass(frozen=True, slots=True)
class RowError:
    """Why a row is refused: a code and its parameters, so that everybody reads it in their own language.

    fatal: nothing after it was read. external_id: set if the whole dialogue with that id is refused, including the
    part of it that was read before.
    """

    line: int
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)
    fatal: bool = False
    external_id: str | None = None

    @property
    def has_line(self) -> bool:
        """Whether the line says where the cause is."""
        return self.code not in WITHOUT_LINE

    @property
    def reason(self) -> str:
        """The cause, one sentence in the active language."""
        return explain_row_error(self.code, self.params)[0]

    @property
    def remedy(self) -> str:
        """What to do about it, in the active language."""
        return explain_row_error(self.code, self.params)[1]

    def __str__(self) -> str:
        return f"{self.line}: {self.reason} {self.remedy}"


class BadRow(Exception):
    """Raised inside a reader; `at` turns it into the RowError of the current row."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = params

    def at(self, line: int, *, external_id: str | None = None) -> RowError:
        """The error of that line."""
        return RowError(line, self.code, self.params, external_id=external_id)
