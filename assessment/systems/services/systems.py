"""Adds, changes and retires systems under test."""

from collections.abc import Mapping
from typing import Any, Final

import httpx
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.systems.connectors.registry import ADDRESSES, OPTIONS, REQUIRED
from assessment.systems.models import Connector, System
from assessment.systems.selectors.systems import is_large_enough, may_be_corpus
from common.refusals import Invalid, NotAllowed, Refusal
from generation.generators import check_option, check_usable, refuse_secrets
from generation.protocol import Sampling
from projects.locking import lock_project
from projects.models import Project
from projects.transitions import record

CHANGEABLE: Final = frozenset(
    {"name", "generator", "corpus", "options", "persona", "sampling", "identity_words"}
)
MAX_NAME: Final = 80
MAX_SENTENCES: Final = 20
MAX_SENTENCE: Final = 300  # characters
MAX_WORDS: Final = 200
MAX_WORD: Final = 80  # characters
KEY_OPTION: Final = "api_key_env"


@transaction.atomic
def create_system(
    *, project: Project, actor: User | None, name: str, connector: str, **settings: Any
) -> System:
    """Add a system. The same one again returns the first; another of that name is refused (name_taken).

    settings: of CHANGEABLE. Raises Invalid with the field that is wrong, NotAllowed.
    """
    system = System(project=project, connector=connector, **_known(settings))
    system.name = name.strip()
    _check(system, actor)
    lock_project(project.pk)
    first = System.objects.filter(project=project, name=system.name).first()
    if first is not None:
        if describe_settings(first) != describe_settings(system):
            raise _name_taken(system.name)
        return first
    system.save()
    record(system, kind="created", project=project, actor=actor, data=describe_settings(system))
    return system


@transaction.atomic
def update_system(*, system: System, actor: User | None, **changes: Any) -> System:
    """Change a system. Safe to repeat; what was said before stays as it was.

    Raises Invalid with the field that is wrong, NotAllowed, Refusal name_taken.
    """
    row = System.objects.select_for_update(of=("self",)).select_related("project").get(pk=system.pk)
    if row.connector == Connector.IMPORTED:
        raise Refusal(
            "imported",
            _("This system is known from imported ratings only."),
            _("Add a new system to chat with it."),
        )
    before = describe_settings(row)
    for field, value in _known(changes).items():
        setattr(row, field, value)
    row.name = row.name.strip()
    after = describe_settings(row)
    if after == before:
        return row
    _check(row, actor, before=before)
    if System.objects.filter(project=row.project, name=row.name).exclude(pk=row.pk).exists():
        raise _name_taken(row.name)
    row.save()
    record(row, kind="changed", project=row.project, actor=actor, data={"before": before, "after": after})
    return row


@transaction.atomic
def retire_system(*, system: System, actor: User | None) -> System:
    """The system begins no further session; sessions that have begun go on. Safe to repeat."""
    row = System.objects.select_for_update(of=("self",)).select_related("project").get(pk=system.pk)
    if row.retired_at is None:
        row.retired_at = timezone.now()
        row.save(update_fields=["retired_at"])
        record(row, kind="retired", project=row.project, actor=actor)
    return row


@transaction.atomic
def restore_system(*, system: System, actor: User | None) -> System:
    """Take a retired system back. Safe to repeat."""
    row = System.objects.select_for_update(of=("self",)).select_related("project").get(pk=system.pk)
    if row.retired_at is not None:
        row.retired_at = None
        row.save(update_fields=["retired_at"])
        record(row, kind="restored", project=row.project, actor=actor)
    return row


def describe_settings(system: System) -> dict[str, Any]:
    """The settings as JSON, for events and comparisons."""
    return {
        "name": system.name,
        "connector": str(system.connector),
        "generator": system.generator.slug if system.generator else None,
        "corpus": system.corpus.slug if system.corpus else None,
        **{name: getattr(system, name) for name in ("options", "persona", "sampling", "identity_words")},
    }


def _known(settings: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := set(settings) - CHANGEABLE:
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    return dict(settings)


def _name_taken(name: str) -> Refusal:
    return Refusal(
        "name_taken",
        _("There is already a system named “%(name)s”.") % {"name": name},
        _("Choose another name, or change that system."),
    )


def _check(system: System, actor: User | None, before: Mapping[str, Any] | None = None) -> None:
    if not 0 < len(system.name) <= MAX_NAME:
        raise Invalid(_("A name has 1 to %(most)d characters.") % {"most": MAX_NAME}, field="name")
    if system.connector not in OPTIONS:
        raise Invalid(_("There is no such connector."), field="connector")
    _check_source(system, actor, before)
    _check_options(system)
    _check_key(system, actor, before)
    _check_sampling(system)
    _check_texts("persona", system.persona, MAX_SENTENCES, MAX_SENTENCE)
    _check_texts("identity_words", system.identity_words, MAX_WORDS, MAX_WORD)


def _check_source(system: System, actor: User | None, before: Mapping[str, Any] | None) -> None:
    """The model of a generator, the corpus of a degraded system; other connectors have neither."""
    if (system.generator is not None) != (system.connector == Connector.GENERATOR):
        raise Invalid(_("Choose a model of this server, or another connector."), field="generator")
    if system.generator is not None and (before is None or before["generator"] != system.generator.slug):
        check_usable(system.generator, system.project, field="generator")
    if (system.corpus is not None) != (system.connector == Connector.DEGRADED):
        raise Invalid(_("Choose the project that the replies are taken from."), field="corpus")
    if system.corpus is not None and not may_be_corpus(system.corpus, system.project, actor):
        raise Invalid(_("You may not read the dialogues of that project."), field="corpus")
    is_same = before is not None and system.corpus is not None and before["corpus"] == system.corpus.slug
    if system.corpus is not None and not is_same and not is_large_enough(system.corpus):
        raise Invalid(
            _("“%(title)s” has too few finished dialogues to take replies and words from.")
            % {"title": system.corpus.title},
            _("Choose another project, or import dialogues into it first."),
            field="corpus",
        )


def _check_options(system: System) -> None:
    if not isinstance(system.options, dict):
        raise Invalid(_("The options must be a JSON object."), field="options")
    refuse_secrets(system.options)
    for name, value in system.options.items():
        check_option(name, value, OPTIONS[system.connector])
    for name in REQUIRED.get(Connector(system.connector), ()):
        if not str(system.options.get(name, "")).strip():
            raise Invalid(_("The option “%(name)s” is missing.") % {"name": name}, field=name)
    if address := ADDRESSES.get(Connector(system.connector)):
        _check_address(address, system.options[address])


def _check_address(name: str, value: str) -> None:
    try:
        url = httpx.URL(value)
        is_sound = url.scheme in {"http", "https"} and bool(url.host) and not url.userinfo and not url.query
    except httpx.InvalidURL:
        is_sound = False
    if not is_sound:
        raise Invalid(
            _("“%(value)s” is not the address of a server.") % {"value": value[:200]},
            _("It looks like http://127.0.0.1:8000/v1, without a password."),
            field=name,
        )


def _check_key(system: System, actor: User | None, before: Mapping[str, Any] | None) -> None:
    """A key is sent to whatever address stands beside it, so only administrators pair the two."""
    address = ADDRESSES.get(Connector(system.connector))
    if KEY_OPTION not in system.options or address is None or actor is None or actor.is_superuser:
        return
    paired = (KEY_OPTION, address)
    if before is not None and all(before["options"].get(name) == system.options.get(name) for name in paired):
        return
    raise NotAllowed(
        _("Only administrators choose which server gets a key."),
        _("Ask an administrator of this installation, or use a server that needs no key."),
    )


def _check_sampling(system: System) -> None:
    if not isinstance(system.sampling, dict):
        raise Invalid(_("The sampling must be a JSON object."), field="sampling")
    try:
        Sampling(**system.sampling)
    except (TypeError, ValueError) as error:
        raise Invalid(_("The sampling is wrong: %(cause)s") % {"cause": error}, field="sampling") from error


def _check_texts(field: str, texts: Any, most: int, longest: int) -> None:
    is_list = isinstance(texts, list) and all(isinstance(text, str) and text.strip() for text in texts)
    if not is_list or len(texts) > most or any(len(text) > longest for text in texts):
        raise Invalid(
            _("Up to %(most)d lines are allowed, each with up to %(longest)d characters.")
            % {"most": most, "longest": longest},
            field=field,
        )
