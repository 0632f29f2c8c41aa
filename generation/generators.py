"""Setting up generators: which model writes the candidates of a project."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Invalid, NotAllowed, Refusal
from generation.models import BackendKind, Generator
from generation.protocol import BackendError, load_backend
from generation.selectors import usable_generators
from projects.models import Project
from projects.transitions import record

Kinds = tuple[type, ...]
NUMBER: Kinds = (int, float)
NULL = type(None)
# As JSON calls them.
JSON_TYPES = {
    str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array", NULL: "null",
}  # fmt: skip
# The options of the backends' constructors, with their types; a test compares both. The local backend cannot be
# inspected here: it imports torch, which the web process lacks.
OPTIONS: Mapping[str, Mapping[str, Kinds]] = {
    BackendKind.HF: {
        "model": (str,),
        "device": (str,),
        "dtype": (str,),
        "max_context": (int,),
        "max_utterances": (int, NULL),
        "cache_conversations": (int,),
        "cache_bytes": (int,),
        "threads": (int, NULL),
        "batch_requests": (int,),
        "extra_rounds": (int,),
        "chat": (bool, NULL),
        "system_prompt": (str,),
        "block_context_ngrams": (bool,),
        "pack_weights": (bool,),
    },
    BackendKind.OPENAI: {
        "base_url": (str, list),
        "model": (str,),
        "api_key_env": (str,),
        "timeout": NUMBER,
        "retries": (int,),
        "max_parallel": (int,),
        "system_prompt": (str,),
        "extra_rounds": (int,),
        "total_timeout": (int, float, NULL),
        "max_body": (int,),
        "extra_body": (dict, NULL),
    },
    BackendKind.SCRIPTED: {
        "replies": (list, NULL),
        "delay": NUMBER,
        "fail_calls": (int,),
        "fail_replies": (int,),
        "fail_word": (str,),
        "unavailable": (bool,),
    },
}
SECRET_WORDS = {"key", "apikey", "token", "secret", "password", "authorization", "credential", "credentials"}
# The environment variables that may be named. The value goes to the server named beside it, so any other variable would
# let an administrator of models read the worker's secrets.
KEY_VARIABLE = re.compile(r"OPENAI_API_KEY|LAPIDARY_KEY_[A-Z0-9_]+")


@transaction.atomic
def create_generator(
    *, actor: User | None, slug: str, backend: str, options: dict[str, Any], project: Project | None = None
) -> Generator:
    """Store a generator; storing the same one again returns the first. Raises Refusal name_taken for another one.

    project: the only one that may use it; None: all.
    """
    _check_administers(actor)
    check_options(backend, options)
    generator, created = Generator.objects.get_or_create(
        slug=slug, defaults={"backend": backend, "options": options, "project": project}
    )
    if created:
        record(
            generator,
            kind="created",
            project=project,
            actor=actor,
            data={"backend": backend, "options": options},
        )
    elif (generator.backend, generator.options, generator.project) != (backend, options, project):
        raise Refusal(
            "name_taken",
            _("A model named “%(name)s” already exists.") % {"name": slug},
            _("Choose another name, or change that model."),
        )
    return generator


def check_usable(generator: Generator | None, project: Project, *, field: str) -> None:
    """Raises Invalid for another project's trained model; None, the server's own model, is everybody's."""
    if generator is not None and not usable_generators(project).filter(pk=generator.pk).exists():
        raise Invalid(
            _("The model “%(name)s” is not available to this project.") % {"name": generator.slug},
            _("Choose another one, or ask the manager of its project to offer it to this one."),
            field=field,
        )


@transaction.atomic
def change_generator(
    *,
    actor: User | None,
    generator: Generator,
    backend: str | None = None,
    options: dict[str, Any] | None = None,
) -> Generator:
    """Change where replies come from; `options` replaces all options. Candidates keep the version that wrote them."""
    _check_administers(actor)
    row = Generator.objects.select_for_update().get(pk=generator.pk)
    before = {"backend": row.backend, "options": row.options}
    row.backend = backend or row.backend
    row.options = row.options if options is None else options
    after = {"backend": row.backend, "options": row.options}
    if after != before:
        check_options(row.backend, row.options)
        row.save(update_fields=["backend", "options"])
        record(row, kind="changed", project=None, actor=actor, data={"before": before, "after": after})
    return row


def _check_administers(actor: User | None) -> None:
    # Generators are shared by all projects, and their servers receive the dialogues.
    if actor is not None and not actor.is_superuser:
        raise NotAllowed(
            _("Models are added and changed by administrators of the server."),
            _("Choose an existing model, or ask an administrator."),
        )


def check_options(backend: str, options: Mapping[str, Any]) -> None:
    """Raise Invalid for unknown or wrong options and for secrets. Loads no model and contacts no server."""
    accepted = OPTIONS.get(backend)
    if accepted is None:
        raise Invalid(
            _("There is no backend “%(name)s”.") % {"name": backend},
            _("Choose one of: %(names)s.") % {"names": ", ".join(BackendKind.values)},
            field="backend",
        )
    refuse_secrets(options)
    for name, value in options.items():
        check_option(name, value, accepted)
    if backend == BackendKind.HF:
        return
    try:
        load_backend(backend, options).close()
    except BackendError as error:
        raise Invalid(error.cause, error.remedy, field="options") from error


def refuse_secrets(options: Mapping[str, Any]) -> None:
    """Raises Invalid for an option that looks like a secret, unless it names an environment variable."""
    for name, value in _named_values(options):
        secret = SECRET_WORDS & set(re.split(r"[^a-z]+", name.lower()))
        by_name = name.lower().endswith("_env")
        if secret and not (by_name and KEY_VARIABLE.fullmatch(str(value))):
            raise Invalid(
                _("The option “%(name)s” looks like a secret, and secrets are not stored.") % {"name": name},
                _(
                    "Put it into an environment variable of the worker and name that variable, "
                    "which is OPENAI_API_KEY or begins with LAPIDARY_KEY_."
                ),
                field="options",
            )


def _named_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key at any depth, with its value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name), inner
            yield from _named_values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named_values(inner)


def check_option(name: str, value: Any, accepted: Mapping[str, Kinds]) -> None:
    """Raises Invalid for a name that is not in `accepted`, and for a value of another kind."""
    if name not in accepted:
        raise Invalid(
            _("This backend has no option “%(name)s”.") % {"name": name},
            _("It takes: %(names)s.") % {"names": ", ".join(accepted)},
            field="options",
        )
    kinds = accepted[name]
    # True is an int in Python, but not for the person who wrote it.
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Invalid(
            _("The option “%(name)s” has a value of the wrong kind.") % {"name": name},
            _("It must be: %(kinds)s.") % {"kinds": " / ".join(JSON_TYPES[kind] for kind in kinds)},
            field="options",
        )
