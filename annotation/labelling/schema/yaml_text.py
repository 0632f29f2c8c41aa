"""A schema as YAML: numbers and words only, no tags, no aliases (one line of them can mean gigabytes)."""

import re
from collections.abc import Iterator
from typing import Any

import yaml
from django.utils.translation import gettext as _

from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.fields import brief
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.schema.reading import read_content
from annotation.labelling.schema.writing import schema_content

MAX_TEXT = 200_000  # characters
MAX_DEPTH = 40  # lists and fields within each other
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
PLAIN: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(text: str) -> QuestionSchema:
    """The schema that the text describes. Raises SchemaErrors with every problem and its line."""
    found = ProblemCollector({})
    if len(text) > MAX_TEXT:
        said = {"n": len(text), "most": MAX_TEXT}
        found.add((), _("The text has %(n)d characters.") % said, _("At most %(most)d are possible.") % said)
        found.raise_any()
    content = parse_yaml(text, found)
    found.raise_any()
    return read_content(content, found)


def to_yaml(schema: QuestionSchema) -> str:
    """Text that `read_yaml` reads as the same schema."""
    content = schema_content(schema)
    return str(yaml.dump(content, Dumper=DUMPER, allow_unicode=True, sort_keys=False, width=110))


def parse_yaml(text: str, found: ProblemCollector) -> Any:
    """Plain data; the lines of everything in it go into `found`."""
    try:
        return _Builder(text, found).value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _stop(found, mark.line + 1 if mark else 1, brief(str(error.problem or error.context or "")))
    except yaml.reader.ReaderError as error:
        _stop(found, text.count("\n", 0, error.position) + 1, _("a character that cannot be read"))
    except Stopped:
        pass
    return None


class Stopped(Exception):
    """Reading on makes no sense; what is wrong has been noted."""


def _stop(found: ProblemCollector, line: int, what: str) -> None:
    found.lines = {(): line}
    message = _("This is no YAML: %(what)s.") % {"what": what}
    found.add(
        (), message, _("Look at the indentation, colons and quotation marks of this line and the one before.")
    )


class _Builder:
    """Builds from the parser's events, so that depth and aliases are refused before anything grows."""

    def __init__(self, text: str, found: ProblemCollector) -> None:
        self.found = found
        self.lines: dict[Path, int] = {} if found.lines is None else found.lines
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=LOADER))
        self.value = self._document()

    def _document(self) -> Any:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                value = self._node(next(self.events), ())
                next(self.events)  # its end
                rest = next(self.events)
                if isinstance(rest, yaml.DocumentStartEvent):
                    self._refuse(rest, (), _("This is a second document."), _("Remove the line “---”."))
                return value
        return None

    def _refuse(self, event: Any, path: Path, message: str, remedy: str) -> None:
        self.lines[path] = event.start_mark.line + 1
        self.found.add(path, message, remedy)
        raise Stopped

    def _node(self, event: Any, path: Path) -> Any:
        self.lines[path] = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            self._refuse(
                event,
                path,
                _("Anchors and aliases (& and *) are not read."),
                _("Write it out, or put the text in quotation marks."),
            )
        if event.tag is not None and event.tag != "!":
            self._refuse(
                event, path, _("Tags (!) are not read."), _("Put the text in quotation marks, or remove it.")
            )
        if len(path) > MAX_DEPTH:
            self._refuse(event, path, _("This is nested too deeply."), _("Take some of the levels out."))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._fields(path)
        return _scalar(event)

    def _list(self, path: Path) -> list[Any]:
        made: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            made.append(self._node(event, (*path, len(made))))
        return made

    def _fields(self, path: Path) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.anchor:
                self._refuse(
                    event, path, _("The name of a field is missing."), _("Write “name: value” here.")
                )
            name = event.value
            line = event.start_mark.line + 1
            if name in made:
                message = _("The field “%(name)s” is there twice.") % {"name": brief(name)}
                self.lines[*path, name] = line
                self.found.add((*path, name), message, _("Remove one of them."))
            made[name] = self._node(next(self.events), (*path, name))
            self.lines[*path, name] = line
        return made


def _scalar(event: Any) -> Any:
    text = event.value
    if not event.implicit[0]:  # in quotation marks, or a block of text
        return text
    if text in PLAIN:
        return PLAIN[text]
    return int(text) if NUMBER.fullmatch(text) else text
