"""Reports of evaluations that were made elsewhere: whether pages can draw them, and what they are about."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.refusals import Refusal
from dialogues.models import Split
from preference.data.models.snapshots import Snapshot

NUMBERS = frozenset({"n_turns", "n_dialogues", "value", "low", "high", "n"})
GROUPS = ("by_domain", "by_language", "by_action")


def is_report(report: Mapping[str, Any]) -> bool:
    """Whether it is a report of preference.training.joint.evaluation, as far as it is shown or compared."""
    groups = [report.get(name, {}) for name in GROUPS]
    figures = [report.get("controls", {}), *groups, *(group for each in groups for group in _values(each))]
    return (
        bool(report.get("overall"))
        and all(_is_figures(each) for each in (report["overall"], *figures))
        and all(
            _is_named(report.get(part), name) for part, name in (("model", "version"), ("data", "sha256"))
        )
        and isinstance(report.get("split"), str)
        and _is_number(report.get("n_turns"))
        and _is_list_of_text(report.get("notes", []))
    )


def _values(group: Any) -> list[Any]:
    return list(group.values()) if isinstance(group, dict) else []


def _is_figures(node: Any) -> bool:
    """An object whose leaves are the numbers of estimates."""
    if not isinstance(node, dict):
        return False
    return all(_is_number(value) if name in NUMBERS else _is_figures(value) for name, value in node.items())


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_named(part: Any, name: str) -> bool:
    return isinstance(part, dict) and isinstance(part.get(name), str)


def _is_list_of_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def check_measured(report: Mapping[str, Any], version: str) -> None:
    """Raises Refusal wrong_evaluation for a report about other weights. report: {} passes. version: of the model."""
    if not report:
        return
    theirs, ours = report["model"]["version"].rpartition("@")[2], version.rpartition("@")[2]
    if theirs != ours:
        raise Refusal(
            "wrong_evaluation",
            _("The report is about other weights (%(theirs)s) than the model has (%(ours)s).")
            % {"theirs": theirs[:20], "ours": ours},
            _("Evaluate this model again and write the report beside its folder, or leave the report out."),
        )


def is_about(report: Mapping[str, Any], snapshot: Snapshot | None) -> bool:
    """Whether the report was made on a split of the snapshot."""
    if snapshot is None or not report:
        return False
    return bool(report["data"]["sha256"] == snapshot.sha256 and report["split"] in Split.values)
