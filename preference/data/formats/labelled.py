"""Format `labelled` of a snapshot: a row a dialogue with the final label of every question, and every judgement.

    {"id": "d7", "split": "train", "language": "en", "domain": "bank", "dialogue": [{"role", "content"}, …],
     "topic": "finance", "topic_source": "judge", "labels": {"quality": 2}, "origin": "unanimous",
     "judgements": [{"annotator": "p3f…", "imported": false, "labels": {"quality": 2}, "schema_version": 1}, …]}

A machine label that passed batch review has the origin "machine", no judgements, and "machine": {"model", "version",
"probability", "run"}. A dialogue without a topic has neither "topic" nor "topic_source". Questions about single
utterances are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accounts.models import User
from dialogues.models import Dialogue
from preference.data.formats.judgements import pseudonym
from preference.data.formats.labels import LiveSubmission, final_labels_on, live_submissions_on
from preference.data.formats.topics import stored_topic
from preference.data.selectors.selection import WITHHELD, Selection, default_language

VERSION = "1"
Row = dict[str, Any]


def rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[tuple[Dialogue, Row]]:
    """A row for every dialogue with a final label, without private and abandoned ones (see selection.WITHHELD)."""
    finals, answered, spoken = final_labels_on(page), live_submissions_on(page), selection.texts(page)
    imported = _imported_annotators(answered)
    for dialogue in page:
        utterances, final = spoken.get(dialogue.pk), finals.get(dialogue.pk)
        if utterances is None or final is None:  # reopened or withdrawn since the page was read
            continue
        labels = final.answers["dialogue"]
        if labels.get("quality") in WITHHELD:
            selection.left_out[str(labels["quality"])] += 1
            continue
        yield (
            dialogue,
            {
                "id": dialogue.external_id,
                "split": dialogue.split,
                "language": dialogue.language or default_language(selection.project),
                "domain": dialogue.domain,
                **stored_topic(dialogue),
                "dialogue": [{"role": one.speaker, "content": one.text} for one in utterances],
                "labels": labels,
                "origin": final.origin,
                **({"machine": final.machine} if final.machine else {}),
                "judgements": [_judgement(dialogue, one, imported) for one in answered.get(dialogue.pk, [])],
            },
        )


def _imported_annotators(answered: Mapping[int, Sequence[LiveSubmission]]) -> set[int]:
    """Ids of the annotators that stand for people of an imported file; one query."""
    people = {one.annotator_id for submissions in answered.values() for one in submissions}
    return set(User.objects.filter(pk__in=people, imported=True).values_list("pk", flat=True))


def _judgement(dialogue: Dialogue, submission: LiveSubmission, imported: set[int]) -> Row:
    return {
        "annotator": pseudonym(dialogue.project_id, submission.annotator_id),
        "imported": submission.annotator_id in imported,
        "labels": submission.answers["dialogue"],
        "schema_version": submission.schema_version,
    }
