"""A look into a file before it is imported: its format, the keys of its dialogues, its first dialogue."""

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from common.languages import LANGUAGE_NAMES
from common.refusals import Invalid
from dialogues.parsing.compressed import ZIP, unpacked_head
from dialogues.parsing.format_guess import FilePreview, preview_dialogue
from dialogues.parsing.formats import FORMATS
from dialogues.parsing.key_map import NAMES, KeyMap, parse_key_map
from dialogues.parsing.map_guess import KeyChoices, choose_keys
from dialogues.services.imports import HEAD_BYTES, checked_map, guess_format_or_refuse
from frontend.pages.requests import signed_in
from frontend.ui.dialogue_languages import named_with_code
from projects.roles import Capability
from projects.selectors import project_for

WHOLE_BYTES = (
    5 * 1024**2
)  # of an Excel or JSON file, which is read whole up to this size; imports.js sends so much
UTTERANCES_SAMPLED = 6
# By name: the label, and what an empty path means.
LABELS: dict[str, tuple[str | Promise, str | Promise]] = {
    "dialogues": (_("List of dialogues"), _("the whole file")),
    "utterances": (_("Utterances"), _("the dialogue is the list")),
    "speaker": (_("Speaker"), _("A and B in turn")),
    "text": (_("Text"), _("the utterance is the text")),
    "id": (_("Id"), _("id, if there is one")),
    "parent": (_("Parent of a message"), _("no message trees")),
}


@dataclass(frozen=True, slots=True)
class KeyField:
    """An input for one path of keys. if_empty: what an empty path means; paths: those to choose from."""

    name: str
    label: str | Promise
    if_empty: str | Promise
    value: str
    paths: list[str]


def chosen_map(data: QueryDict) -> str:
    """The map that the person chose in the form, as text; "" if the form had no such fields."""
    paths = [f"{name}={str(data[f'map_{name}']).strip()}" for name in NAMES if f"map_{name}" in data]
    return ",".join(paths)


@require_POST
@login_required
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    """Preview a file before the upload: its format, and the first dialogue as the parser reads it.

    The body is the file, or its first HEAD_BYTES if it is larger than WHOLE_BYTES. Query: `name`, `size` and, if the
    person chose them, `format`, `language` and the paths `map_dialogues`, `map_text` and so on.
    """
    project_for(signed_in(request), slug, Capability.IMPORT)
    sent = request.body
    is_sent_whole = request.GET.get("size") == str(len(sent)) and len(sent) <= WHOLE_BYTES
    head = sent[:WHOLE_BYTES] if is_sent_whole or sent.startswith(ZIP) else sent[:HEAD_BYTES]
    chosen = request.GET.get("format", "")
    try:
        format = chosen
        if chosen not in FORMATS:
            first = head if head.startswith(ZIP) else head[:HEAD_BYTES]
            format = guess_format_or_refuse(request.GET.get("name", ""), first)
        map = checked_map(format, chosen_map(request.GET)) if FORMATS[format].read_mapped else ""
    except Invalid as refusal:
        return render(request, "data/imports/preview.html", {"refusal": refusal})
    content = unpacked_head(head, WHOLE_BYTES)
    is_whole = request.GET.get("size") == str(len(head)) and (content == head or len(content) < WHOLE_BYTES)
    if not is_whole and not head.startswith(ZIP):
        content = content[:HEAD_BYTES]
    key_map = parse_key_map(map) if map else None
    shown = preview_dialogue(format, content, is_whole=is_whole, key_map=key_map)
    choices = choose_keys(content, key_map) if FORMATS[format].read_mapped else None
    path = (key_map or (choices and choices.guess) or KeyMap()).dialogues
    context = {
        "format": FORMATS[format],
        "is_guess": chosen not in FORMATS,
        "chosen_language": LANGUAGE_NAMES.get(request.GET.get("language", ""), ""),
        "most_bytes": WHOLE_BYTES if FORMATS[format].is_binary and not is_whole else None,
        "key_fields": _key_fields(choices, key_map, is_whole=is_whole) if choices else [],
        "unread": choices.unread if choices else [],
        "unseen_path": "" if is_whole or shown.dialogue or shown.error else ".".join(path),
        **_shown(shown),
    }
    return render(request, "data/imports/preview.html", context)


def _shown(shown: FilePreview) -> dict[str, object]:
    utterances = shown.dialogue.utterances if shown.dialogue else ()
    refused = "all" if shown.refuses_all else "some" if shown.error else ""
    return {
        "shown": shown,
        "refused": refused,
        "languages": [(named_with_code(code), count) for code, count in shown.languages.items() if code],
        "without_language": shown.languages.get("", 0),
        "counted": sum(shown.languages.values()),
        "utterances": utterances[:UTTERANCES_SAMPLED],
        "more": max(0, len(utterances) - UTTERANCES_SAMPLED),
    }


def _key_fields(choices: KeyChoices, chosen: KeyMap | None, *, is_whole: bool) -> list[KeyField]:
    """Empty if the whole file has no keys: then a map cannot help."""
    if is_whole and not any(choices.paths.values()):
        return []
    values = (chosen or choices.guess or KeyMap()).as_texts()
    return [
        KeyField(name, label, if_empty, values[name], list(choices.paths.get(name, [])))
        for name, (label, if_empty) in LABELS.items()
    ]
