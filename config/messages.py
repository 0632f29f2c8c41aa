"""Translations without gettext's programs: collect the messages, merge them into the .po files, compile the .mo files.

`python -m config.messages` does all of it and names what is untranslated; with `--check` it changes nothing and fails
if something is missing or stale. Needs Babel and Django's template lexer, both plain Python.

Two catalogs, as Django has them: `django` for Python and templates, `djangojs` for the scripts, whose messages browsers
load (frontend/pages/message_catalog.py).
"""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT: Final = Path(__file__).resolve().parent.parent
PO: Final = ROOT / "frontend" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
SCRIPTS_PO: Final = PO.with_name("djangojs.po")
APPS: Final = (
    *("accounts", "annotation", "assessment", "common", "config", "dialogues", "frontend", "generation"),
    *("jobs", "measures", "operations", "preference", "projects"),
)
# Argument positions of message, plural and context, as in Babel's keywords.
KEYWORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(["_", "gettext", "gettext_lazy", "gettext_noop"]),
    **dict.fromkeys(["ngettext", "ngettext_lazy"], (1, 2)),
    **dict.fromkeys(["pgettext", "pgettext_lazy"], ((1, "c"), 2)),
    **dict.fromkeys(["npgettext", "npgettext_lazy"], ((1, "c"), 2, 3)),
}
JAVASCRIPT: Final[dict[str, Any]] = {"jsx": False, "parse_template_string": True}


def script_sources() -> list[Path]:
    return sorted((ROOT / "frontend" / "static" / "js").rglob("*.js"))


def sources() -> Iterator[Path]:
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*")):
            if path.suffix in {".py", ".html", ".txt"} and "migrations" not in path.parts:
                yield path


def python_of(path: Path) -> str:
    """Python source with the same gettext calls; for a template, what Django's lexer makes of it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    from django.utils.translation.template import templatize

    # Indentation means nothing in a template and would stop the tokenizer.
    return "\n".join(line.strip() for line in templatize(text, origin=str(path)).splitlines())


def collect() -> Catalog:
    """Every message of the sources, with the places that say it."""
    return collect_from(sources(), root=ROOT)


def collect_from(paths: Iterable[Path], *, root: Path) -> Catalog:
    messages = Catalog(fuzzy=False)
    for path in paths:
        place = path.relative_to(root).as_posix()
        source = io.BytesIO(python_of(path).encode())
        for line, message, _comments, context in extract("python", source, KEYWORDS):
            if message:
                messages.add(message, locations=[(place, line)], context=context)
        if path.suffix == ".py":
            for line, text in messages_in_f_strings(path.read_text(encoding="utf-8")):
                messages.add(text, locations=[(place, line)])
    return messages


def collect_from_scripts(paths: Iterable[Path], *, root: Path) -> Catalog:
    messages = Catalog(fuzzy=False)
    for path in paths:
        source = io.BytesIO(path.read_bytes())
        for line, text, _comments, context in extract("javascript", source, KEYWORDS, options=JAVASCRIPT):
            if text:
                messages.add(text, locations=[(path.relative_to(root).as_posix(), line)], context=context)
    return messages


def messages_in_f_strings(source: str) -> Iterator[tuple[int, str]]:
    """Calls such as f"{_('Total')}: 3", which Babel reads as one string and passes over before Python 3.12."""
    outer = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)]
    for node in (inner for joined in outer for inner in ast.walk(joined)):
        match node:
            case ast.Call(func=ast.Name(id="_" | "gettext"), args=[ast.Constant(value=str(text))]):
                yield node.lineno, text


def read(path: Path = PO) -> Catalog:
    if not path.exists():
        return Catalog(locale="zh_Hans", project="Lapidary", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def compiled(catalog: Catalog) -> bytes:
    output = io.BytesIO()
    write_mo(output, catalog)
    return output.getvalue()


def key(message: Message) -> tuple[str | None, str]:
    return message.context, message.id if isinstance(message.id, str) else message.id[0]


def is_certain(message: Message) -> bool:
    texts = [message.string] if isinstance(message.string, str) else list(message.string or [""])
    return not message.fuzzy and all(texts)


def untranslated(wanted: Catalog, translated: Catalog) -> list[str]:
    """Messages of the sources with no certain translation, each with its first place."""
    certain = {key(message) for message in translated if is_certain(message)}
    return [
        f"{message.locations[0][0]}:{message.locations[0][1]}: {key(message)[1]!r}"
        for message in wanted
        if message.id and key(message) not in certain
    ]


def write(wanted: Catalog, catalog: Catalog, po: Path = PO) -> None:
    catalog.update(wanted, no_fuzzy_matching=True, update_creation_date=False)
    po.parent.mkdir(parents=True, exist_ok=True)
    with po.open("wb") as file:
        # Line numbers would make every edit of a source a change here.
        write_po(file, catalog, width=110, ignore_obsolete=True, sort_output=True, include_lineno=False)
    po.with_suffix(".mo").write_bytes(compiled(read(po)))


def catalogs() -> list[tuple[Path, Catalog]]:
    """Each .po file with the messages that belong in it."""
    return [(PO, collect()), (SCRIPTS_PO, collect_from_scripts(script_sources(), root=ROOT))]


def problems() -> list[str]:
    return list(chain.from_iterable(problems_of(po, wanted) for po, wanted in catalogs()))


def problems_of(po: Path, wanted: Catalog) -> list[str]:
    missing = [f"no translation in {po.name}: {place}" for place in untranslated(wanted, read(po))]
    mo = po.with_suffix(".mo")
    if not mo.exists() or mo.read_bytes() != compiled(read(po)):
        missing.append(f"{mo.relative_to(ROOT)} is older than its .po")
    return missing


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if "--check" not in sys.argv:
        for po, wanted in catalogs():
            write(wanted, read(po), po)
    missing = problems()
    sys.stderr.writelines(f"{line}\n" for line in missing)
    if missing:
        sys.stderr.write(
            f"{len(missing)} to fix: translate them in {PO.parent.relative_to(ROOT)}, then run: make messages\n"
        )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
