"""Join links: what they contain, and their signature.

A signed link names its participant, and the signature covers project, run and every parameter. An unsigned link leaves
the parameters to the panel, which fills them in for each participant.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from django.core import signing
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from assessment.setup.models import AssessmentSettings
from assessment.setup.preset import PARAMETER_NAMES
from common.refusals import Refusal

SALT: Final = "assessment.join"
RUN: Final = "run"
SIGNATURE: Final = "key"
MAX_LENGTH: Final = 200  # characters of a parameter; the longest that a participant row stores
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
# Prolific replaces these when a participant opens the link.
PLACEHOLDERS: Final = {
    "participant": "{{%PROLIFIC_PID%}}",
    "study": "{{%STUDY_ID%}}",
    "session": "{{%SESSION_ID%}}",
}


@dataclass(frozen=True, slots=True)
class JoinLink:
    """What a link says. run: its number; None: the newest open one. parameters: by our names (participant, …)."""

    run: int | None
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def panel_id(self) -> str:
        return self.parameters["participant"]


def parameter_names(settings: AssessmentSettings) -> dict[str, str]:
    """What the panel calls participant, study and session."""
    return {**PARAMETER_NAMES, **settings.parameter_names}


def link_query(settings: AssessmentSettings, run: int, parameters: Mapping[str, str]) -> str:
    """The query of a signed join link."""
    query = {
        names: parameters[name] for name, names in parameter_names(settings).items() if name in parameters
    }
    signature = _signature(settings, {**query, RUN: str(run)})
    return urlencode({**query, RUN: run, SIGNATURE: signature})


def panel_query(settings: AssessmentSettings, run: int) -> str:
    """The query of an unsigned link, with the placeholders that the panel replaces."""
    filled = [f"{name}={PLACEHOLDERS[ours]}" for ours, name in parameter_names(settings).items()]
    return "&".join([*filled, f"{RUN}={run}"])


def read_link(settings: AssessmentSettings, query: Mapping[str, str]) -> JoinLink:
    """What the query of a join link says.

    Raises Refusal: link_incomplete, link_changed (the signature does not fit), link_unsigned.
    """
    names = parameter_names(settings)
    sent = {ours: query[name].strip() for ours, name in names.items() if query.get(name, "").strip()}
    _check_parameters(names, sent)
    run = query.get(RUN, "")
    if SIGNATURE in query:
        signed = {name: query[name] for name in (*names.values(), RUN) if name in query}
        if not constant_time_compare(query[SIGNATURE], _signature(settings, signed)):
            raise _changed()
    elif settings.signed_links:
        raise Refusal(
            "link_unsigned",
            _("This link is not signed."),
            _("Use the complete link that you were sent, without changing it."),
            status=403,
        )
    return JoinLink(int(run) if run.isascii() and run.isdecimal() and len(run) < 9 else None, sent)


def _check_parameters(names: Mapping[str, str], sent: Mapping[str, str]) -> None:
    if "participant" not in sent:
        raise Refusal(
            "link_incomplete",
            _("This link is incomplete."),
            _("Open the study again from the page that sent you here. The link must contain “%(name)s”.")
            % {"name": names["participant"]},
            status=400,
        )
    if any(len(value) > MAX_LENGTH or CONTROL.search(value) for value in sent.values()):
        raise _changed()


def _changed() -> Refusal:
    return Refusal(
        "link_changed",
        _("This link was changed, so we cannot tell who you are."),
        _("Use the complete link that you were sent, without changing it."),
        status=403,
    )


def _signature(settings: AssessmentSettings, query: Mapping[str, str]) -> str:
    content = [settings.project.slug, *(f"{name}={query[name]}" for name in sorted(query))]
    return signing.Signer(salt=SALT).signature("\n".join(content))
