"""Translations without gettext's programs: collect what is said, merge it into the .po, compile the .mo.

`python -m config.messages` does all of it and names what is untranslated; with `--check` it changes nothing and fails
where something is missing or stale. Needs Babel and Django's template lexer, both plain Python.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT: Final = Path(__file__).resolve().parent.parent
PO: Final = ROOT / "frontend" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
APPS: Final = (
    *("accounts", "annotation", "config", "dialogues", "frontend", "generation"),
    *("jobs", "measures", "preference", "projects"),
)
# Argument positions of message, plural and context, as in Babel's keywords.
KEYWORDS: Final[dict[str, tuple[int | tuple[int, str], ...] | None]] = {
    **dict.fromkeys(["_", "gettext", "gettext_lazy", "gettext_noop"]),
    **dict.fromkeys(["ngettext", "ngettext_lazy"], (1, 2)),
    **dict.fromkeys(["pgettext", "pgettext_lazy"], ((1, "c"), 2)),
    **dict.fromkeys(["npgettext", "npgettext_lazy"], ((1, "c"), 2, 3)),
}


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
    found = Catalog(fuzzy=False)
    for path in sources():
        source = io.BytesIO(python_of(path).encode())
        for line, function, said, comments in extract_python(
            source, list(KEYWORDS), [], {"encoding": "utf-8"}
        ):
            add(found, KEYWORDS[function], said, (path.relative_to(ROOT).as_posix(), line), comments)
    return found


def add(
    catalog: Catalog,
    keyword: tuple[int | tuple[int, str], ...] | None,
    said: str | tuple[str | None, ...] | list[str | None] | None,
    place: tuple[str, int],
    comments: list[str],
) -> None:
    """Sort the arguments of one call into context, message and plural. A call on a variable says nothing."""
    arguments = [said] if isinstance(said, str) or said is None else list(said)
    contexts = [item[0] for item in keyword or () if isinstance(item, tuple)]
    positions = [item for item in keyword or (1,) if isinstance(item, int)]
    if len(arguments) < max([*contexts, *positions]):
        return
    texts = [arguments[position - 1] for position in positions]
    if not all(texts):
        return
    message = texts[0] if len(texts) == 1 else tuple(texts)
    context = arguments[contexts[0] - 1] if contexts else None
    catalog.add(message, locations=[place], user_comments=comments, context=context)


def read(path: Path = PO) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def compiled(catalog: Catalog) -> bytes:
    output = io.BytesIO()
    write_mo(output, catalog)
    return output.getvalue()


def key(message: Message) -> tuple[str | None, str]:
    return message.context, message.id if isinstance(message.id, str) else message.id[0]


def untranslated(said: Catalog, known: Catalog) -> list[str]:
    """Messages of the sources with no certain translation, each with its first place."""
    certain = {
        key(m)
        for m in known
        if m.id and not m.fuzzy and all([m.string] if isinstance(m.string, str) else m.string)
    }
    return [
        f"{m.locations[0][0]}:{m.locations[0][1]}: {key(m)[1]!r}"
        for m in said
        if m.id and key(m) not in certain
    ]


def write(said: Catalog, known: Catalog) -> None:
    known.update(said, no_fuzzy_matching=True)
    with PO.open("wb") as file:
        # Line numbers would make every edit of a source a change here.
        write_po(file, known, width=110, ignore_obsolete=True, sort_output=True, include_lineno=False)
    PO.with_suffix(".mo").write_bytes(compiled(read()))


def problems() -> list[str]:
    missing = [f"no translation: {place}" for place in untranslated(collect(), read())]
    mo = PO.with_suffix(".mo")
    if not mo.exists() or mo.read_bytes() != compiled(read()):
        missing.append(f"{mo.relative_to(ROOT)} is older than its .po")
    return missing


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if "--check" not in sys.argv:
        write(collect(), read())
    found = problems()
    sys.stderr.writelines(f"{line}\n" for line in found)
    if found:
        sys.stderr.write(
            f"{len(found)} to mend: translate them in {PO.relative_to(ROOT)}, then run: make messages\n"
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
