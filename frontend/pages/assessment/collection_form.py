"""The form of a collection: one set of fields for each kind."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from assessment.collections.models import CollectionKind
from assessment.collections.services.checks import MAX_DIALOGUES, MAX_ROUNDS, can_reply
from assessment.collections.services.starting import DEFAULT_COUNT, MAX_SEED, ROUNDS, CollectionPlan
from assessment.sessions.models.runs import Run
from assessment.systems.models import Connector, System
from frontend.ui.project_fields import TitledProject
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, projects_for

PRESET: Final = "diamante-evaluation"  # asks the questions of the paper
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    CollectionKind.STATIC: (
        "collection_id",
        "systems",
        "source",
        "any_split",
        "count",
        "with_human",
        "target",
        "seed",
    ),
    CollectionKind.SELF_CHAT: (
        "collection_id",
        "systems",
        "source",
        "any_split",
        "count",
        "rounds",
        "target",
        "seed",
    ),
    CollectionKind.HUMAN_BOT: ("collection_id", "run", "target"),
}
# By kind: its name, and what it is for.
KINDS: Final[Mapping[str, tuple[str | Promise, str | Promise]]] = {
    CollectionKind.STATIC: (
        gettext_lazy("Replies to given contexts"),
        gettext_lazy("Each system answers the same contexts once. The human reply can be rated among them."),
    ),
    CollectionKind.SELF_CHAT: (
        gettext_lazy("Self-chats"),
        gettext_lazy(
            "Each system continues the same openings alone and plays both sides; one side is rated."
        ),
    ),
    CollectionKind.HUMAN_BOT: (
        gettext_lazy("Human-bot chats"),
        gettext_lazy(
            "Conversations of participants with the systems, taken from a run; other people rate them."
        ),
    ),
}


class RatersProject(TitledProject):
    """Labelling projects; those that ask other questions than the paper say so."""

    def label_from_instance(self, obj: Any) -> str:
        title = super().label_from_instance(obj)
        return title if obj.preset == PRESET else _("%(title)s · other questions") % {"title": title}


class CollectionForm(forms.Form):
    """kind: which fields the form has. Projects and systems are those that the user may choose."""

    collection_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    systems = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Systems"),
        queryset=System.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Raters never see which one replied."),
    )
    run = forms.ModelChoiceField(
        label=gettext_lazy("Run"),
        queryset=Run.objects.none(),
        empty_label=None,
        help_text=gettext_lazy(
            "Its rated conversations are collected, without those of the degraded system. Other people read them: the "
            "consent text must say so."
        ),
    )
    source = TitledProject(
        label=gettext_lazy("Source"),
        queryset=Project.objects.none(),
        empty_label=None,
        help_text=gettext_lazy(
            "Its finished dialogues of people give the contexts; those of the test split if there are any."
        ),
    )
    any_split = forms.BooleanField(
        label=gettext_lazy("Also dialogues outside of the test split"),
        required=False,
        help_text=gettext_lazy("Only if none of the systems was trained on them."),
    )
    count = forms.IntegerField(label=gettext_lazy("Contexts"), min_value=1, max_value=MAX_DIALOGUES)
    rounds = forms.IntegerField(
        label=gettext_lazy("Rounds"),
        min_value=1,
        max_value=MAX_ROUNDS,
        initial=ROUNDS,
        help_text=gettext_lazy("A round is two utterances. The opening is the first one."),
    )
    with_human = forms.BooleanField(
        label=gettext_lazy("Rate the human reply, too"), required=False, initial=True
    )
    target = RatersProject(
        label=gettext_lazy("Raters"),
        queryset=Project.objects.none(),
        empty_label=None,
        help_text=gettext_lazy(
            "The labelling project whose members rate. Its preset “diamante-evaluation” asks the paper's questions."
        ),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        required=False,
        min_value=0,
        max_value=MAX_SEED,
        help_text=gettext_lazy("The same seed draws the same contexts again. Empty: drawn."),
    )

    def __init__(
        self, kind: CollectionKind, project: Project, user: User, *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.kind = kind
        self._choose("systems", choosable_systems(project, kind))
        self._choose("run", Run.objects.filter(project=project).order_by("-number"))
        self._choose("source", projects_with(user, Capability.READ_DIALOGUES))
        targets = projects_with(user, Capability.CONFIGURE).filter(protocol=Protocol.LABELLING)
        self._choose("target", targets)
        self.fields["count"].initial = DEFAULT_COUNT.get(kind)
        if kind == CollectionKind.SELF_CHAT:
            self.fields["count"].label = gettext_lazy("Openings")
        if suited := targets.filter(preset=PRESET).first():
            self.fields["target"].initial = suited.pk
        self.fields = {name: self.fields[name] for name in FIELDS[kind]}

    def _choose(self, name: str, rows: Any) -> None:
        self.fields[name].queryset = rows  # type: ignore[attr-defined]

    def has_choices(self, name: str) -> bool:
        """Whether the field, if the form has it, offers anything."""
        return name not in self.fields or self.fields[name].queryset.exists()  # type: ignore[attr-defined]

    def plan(self) -> CollectionPlan:
        values = {name: self.cleaned_data[name] for name in self.fields if name != "collection_id"}
        systems = tuple(values.pop("systems", ()))
        return CollectionPlan(kind=self.kind, systems=systems, **values)


def choosable_systems(project: Project, kind: CollectionKind) -> Any:
    """The systems that can make dialogues of this kind."""
    systems = System.objects.filter(project=project).order_by("name")
    chosen = [system.pk for system in systems if can_reply(system)]
    found = systems.filter(pk__in=chosen)
    # Such a service remembers its own conversations and cannot be given a context.
    return found.exclude(connector=Connector.HTTP) if kind == CollectionKind.STATIC else found


def projects_with(user: User, capability: Capability) -> Any:
    """Projects in which the user has the capability."""
    rows = projects_for(user).order_by("title")
    return rows.filter(pk__in=[each.pk for each in rows if capability in capabilities_of(user, each)])
