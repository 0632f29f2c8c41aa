"""A schema as YAML: only numbers and words; no tags and no aliases, since a line of aliases can expand to gigabytes."""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.fields import truncate
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.schema.reading import read_content
from annotation.labelling.schema.writing import schema_content

MAX_TEXT = 200_000  # characters
MAX_DEPTH = 40  # levels of lists and fields
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
PLAIN: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(text: str) -> QuestionSchema:
    """Read a schema from YAML. Raises InvalidSchema with every problem and its line."""
    problems = ProblemCollector({})
    if len(text) > MAX_TEXT:
        counts = {"n": intcomma(len(text)), "most": intcomma(MAX_TEXT)}
        problems.add(
            (), _("The text has %(n)s characters.") % counts, _("At most %(most)s are allowed.") % counts
        )
        problems.raise_if_any()
    content = parse_yaml(text, problems)
    problems.raise_if_any()
    return read_content(content, problems)


def to_yaml(schema: QuestionSchema) -> str:
    """Write a schema as YAML; `read_yaml` reads it as the same schema."""
    content = schema_content(schema)
    return str(yaml.dump(content, Dumper=DUMPER, allow_unicode=True, sort_keys=False, width=110))


def parse_yaml(text: str, problems: ProblemCollector) -> Any:
    """Parse YAML into plain data. Stores the line of every path in `problems.lines`; None if the text is invalid."""
    try:
        return _Builder(text, problems).value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _stop(problems, mark.line + 1 if mark else 1, truncate(str(error.problem or error.context or "")))
    except yaml.reader.ReaderError as error:
        _stop(problems, text.count("\n", 0, error.position) + 1, _("a character that cannot be read"))
    except Stopped:
        pass
    return None


class Stopped(Exception):
    """Reading cannot continue; the problem has been noted."""


def _stop(problems: ProblemCollector, line: int, what: str) -> None:
    problems.lines = {(): line}
    message = _("This is not valid YAML: %(what)s.") % {"what": what}
    problems.add(
        (), message, _("Look at the indentation, colons and quotation marks of this line and the one before.")
    )


class _Builder:
    """Builds data from the parser's events, so that depth and aliases are refused before anything is expanded."""

    def __init__(self, text: str, problems: ProblemCollector) -> None:
        self.problems = problems
        self.lines: dict[Path, int] = {} if problems.lines is None else problems.lines
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=LOADER))
        self.value = self._document()

    def _document(self) -> Any:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                value = self._node(next(self.events), ())
                next(self.events)  # the end of the document
                following = next(self.events)
                if isinstance(following, yaml.DocumentStartEvent):
                    self._refuse(
                        following,
                        (),
                        _("This starts a second YAML document, but only one is allowed."),
                        _("Remove the line “---”."),
                    )
                return value
        return None

    def _refuse(self, event: Any, path: Path, message: str, remedy: str) -> None:
        self.lines[path] = event.start_mark.line + 1
        self.problems.add(path, message, remedy)
        raise Stopped

    def _node(self, event: Any, path: Path) -> Any:
        self.lines[path] = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            self._refuse(
                event,
                path,
                _("Anchors and aliases (& and *) are not supported."),
                _("Write the value out, or put the text in quotation marks."),
            )
        if event.tag is not None and event.tag != "!":
            self._refuse(
                event,
                path,
                _("Tags (!) are not supported."),
                _("Put the text in quotation marks, or remove it."),
            )
        if len(path) > MAX_DEPTH:
            self._refuse(event, path, _("This is nested too deeply."), _("Remove some of the levels."))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._fields(path)
        return _scalar(event)

    def _list(self, path: Path) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            values.append(self._node(event, (*path, len(values))))
        return values

    def _fields(self, path: Path) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.anchor:
                self._refuse(
                    event, path, _("The name of a field is missing."), _("Write “name: value” here.")
                )
            name = event.value
            line = event.start_mark.line + 1
            if name in fields:
                message = _("The field “%(name)s” appears twice.") % {"name": truncate(name)}
                self.lines[*path, name] = line
                self.problems.add((*path, name), message, _("Remove one of them."))
            fields[name] = self._node(next(self.events), (*path, name))
            self.lines[*path, name] = line
        return fields


def _scalar(event: Any) -> Any:
    text = event.value
    if not event.implicit[0]:  # quoted, or a block of text
        return text
    if text in PLAIN:
        return PLAIN[text]
    return int(text) if NUMBER.fullmatch(text) else text
