"""Choosing the model that writes a project's candidates, and taking the choice back.

A turn that waits keeps the model that it asked; the next one asks the new model. No worker is started again.
"""

import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from annotation.authoring.services.settings import update_authoring
from annotation.tasks.services.reasons import clean_reason
from common.idempotency import check_repeat
from common.refusals import Refusal
from generation.models import Generator
from generation.selectors import QUEUE, failures_to_load, workers_holding
from generation.services import preload_generator
from jobs.selectors import live_workers
from preference.registry.files import check_files
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.bases import wrong_kind
from preference.registry.selectors.trained_models import current_model, promotion_to_undo
from preference.registry.services.trained_models import check_trainable
from projects.models import Event, Project
from projects.transitions import record

MAX_REASON = 2000
LOADING_SECONDS = 20.0  # that a person waits for
LOOK_EVERY = 0.5


def promote_model(
    *,
    promotion_id: UUID,
    model: RegisteredModel,
    project: Project,
    actor: User | None,
    expected_current: str | None,
    reason: str = "",
) -> Promotion:
    """Have the project's next candidates written by `model`. The same promotion_id again returns the first promotion.

    expected_current: name of the model that the person saw in use, None: the server's own. If two people promote at
    once, the second gets changed_meanwhile with the name of the first. If a worker runs, the model is loaded before the
    switch. Raises Refusal wrong_kind, no_authoring, files_gone, cannot_load, still_loading, already_current,
    changed_meanwhile, Invalid (reason).
    """
    reason = clean_reason(reason, most=MAX_REASON)
    request = _Request(promotion_id, project, actor, expected_current, reason)
    if not model.writes_replies:
        raise wrong_kind(model)
    if promotion := _stored(request, after_id=model.generator_id, rolls_back=False):
        return promotion
    check_trainable(project)
    return _switch(request, _servable(model))


def roll_back(
    *,
    promotion_id: UUID,
    project: Project,
    actor: User | None,
    expected_current: str | None,
    reason: str = "",
) -> Promotion:
    """Go back to the model before the newest promotion that is not rolled back yet; otherwise like promote_model.

    Raises Refusal nothing_to_undo, also if the model was changed in the settings after that promotion.
    """
    reason = clean_reason(reason, most=MAX_REASON)
    request = _Request(promotion_id, project, actor, expected_current, reason)
    if promotion := _stored(request, rolls_back=True):
        return promotion
    check_trainable(project)
    undone = promotion_to_undo(project)
    current = current_model(project)
    if undone is None or current is None:
        raise Refusal(
            "nothing_to_undo", _("There is no promotion left to roll back."), _("Promote a model instead.")
        )
    if expected_current == current.name and undone.after != current.generator:
        raise Refusal(
            "nothing_to_undo",
            _("The project's model was changed in its settings after the last promotion."),
            _("Promote the model that you want, or choose it in the settings."),
        )
    before = undone.before
    if before and (model := RegisteredModel.objects.filter(generator=before).first()):
        _servable(model)
    return _switch(request, before, undone)


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments that promoting and rolling back share."""

    promotion_id: UUID
    project: Project
    actor: User | None
    expected_current: str | None
    reason: str


def _stored(request: _Request, *, rolls_back: bool, **sent: Any) -> Promotion | None:
    """The promotion of an earlier send of this request, or None. Raises Refusal id_in_use for another request."""
    rows = Promotion.objects.select_related("before", "after", "actor")
    promotion = rows.filter(pk=request.promotion_id).first()
    if promotion is not None:
        check_repeat(promotion, project_id=request.project.pk, reason=request.reason, **sent)
        first_request = {
            "expected_current": _slug(promotion.before),
            "rolls_back": promotion.undoes_id is not None,
        }
        check_repeat(first_request, expected_current=request.expected_current, rolls_back=rolls_back)
    return promotion


def _slug(generator: Generator | None) -> str | None:
    return generator.slug if generator else None


def _servable(model: RegisteredModel) -> Generator:
    """The model's generator, loaded by a worker. Raises Refusal files_gone, cannot_load or still_loading."""
    check_files(model)
    if model.generator is None:
        raise _files_removed()
    if not _preload(model.generator, model.version):
        raise _not_loaded(model)
    return model.generator


def _preload(generator: Generator, version: str) -> bool:
    """Have a worker load the model while the old one still serves, so that nobody waits; False if it takes long.

    Raises Refusal cannot_load with the worker's reason. Without a live worker nobody is served either, and the check at
    registration decides.
    """
    alive = live_workers(QUEUE)
    if not alive.exists():
        return bool(version)
    known, is_requested, deadline = failures_to_load(generator), False, time.monotonic() + LOADING_SECONDS
    while not (workers_holding(generator) or alive.filter(details__models__contains=[version]).exists()):
        if not is_requested:
            is_requested = True
            preload_generator(generator.pk)
        for number, (cause, remedy) in failures_to_load(generator).items():
            if number not in known:  # of this time
                raise _cannot_load(generator.slug, cause, remedy)
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_EVERY)
    return True


def _not_loaded(model: RegisteredModel) -> Refusal:
    if model.fault:
        return _cannot_load(model.slug, model.fault, model.remedy)
    template = _(
        "The worker is still loading the model “%(name)s”; until then the project keeps its current one."
    )
    return Refusal(
        "still_loading",
        template % {"name": model.slug},
        _("Promote it again in a moment. If that does not help, see the log of the worker."),
    )


def _cannot_load(name: str, cause: str, remedy: str) -> Refusal:
    template = _("The model “%(name)s” cannot be used: %(cause)s")
    return Refusal("cannot_load", template % {"name": name, "cause": cause}, remedy)


@transaction.atomic
def _switch(request: _Request, after: Generator | None, undoes: Promotion | None = None) -> Promotion:
    """Compare and set under the lock of the project's settings. undoes: the promotion that is rolled back."""
    project, actor, reason = request.project, request.actor, request.reason
    settings = AuthoringSettings.objects.select_for_update(of=("self",)).get(project=project)
    rolls_back = undoes is not None
    if earlier := _stored(request, rolls_back=rolls_back):  # the same request, sent twice at once
        return earlier
    before = settings.generator
    if _slug(before) != request.expected_current:
        raise _changed_meanwhile(project, before)
    _check_files_exist(after)
    if before == after:
        raise Refusal(
            "already_current",
            _("The project's candidates already come from this model."),
            _("There is nothing to do."),
        )
    update_authoring(project=project, actor=actor, changes={"generator": after})
    changes: dict[str, Any] = {"before": before, "after": after, "undoes": undoes, "reason": reason}
    promotion = Promotion.objects.create(id=request.promotion_id, project=project, actor=actor, **changes)
    kind = "rolled_back" if rolls_back else "promoted"
    data = {"before": _slug(before), "after": _slug(after)}
    record(promotion, kind=kind, project=project, actor=actor, reason=reason, data=data)
    return promotion


def _check_files_exist(generator: Generator | None) -> None:
    """Raise Refusal files_gone, under the lock of remove_model: the files may be gone since `_servable` ran."""
    rows = RegisteredModel.objects.select_for_update(of=("self",))
    if generator and (model := rows.filter(generator=generator).first()) and not model.folder:
        raise _files_removed()


def _files_removed() -> Refusal:
    return Refusal("files_gone", _("The files of this model were removed."), _("Train again."), status=410)


def _changed_meanwhile(project: Project, current: Generator | None) -> Refusal:
    """The refusal for an outdated view, with who chose the current model and when."""
    events = Event.objects.filter(project=project, kind="authoring_changed").select_related("actor")
    event = events.filter(data__after__has_key="generator").first()
    name = current.slug if current else _("the server's own model")
    details: dict[str, Any] = {"current": current.slug if current else None}
    message = _("The project's model is now “%(model)s”.") % {"model": name}
    if event:
        who = event.actor.shown_name if event.actor else _("The command line")
        message = _("%(who)s chose “%(model)s” at %(time)s, after you looked.") % {
            "who": who,
            "model": name,
            "time": f"{timezone.localtime(event.at):%Y-%m-%d %H:%M:%S}",
        }
        details |= {"by": event.actor.username if event.actor else None, "at": event.at.isoformat()}
    return Refusal(
        "changed_meanwhile", message, _("Compare with that one, then decide again."), details=details
    )
