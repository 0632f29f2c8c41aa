"""What cutting batches would do, in words."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.batch_review.selectors.cut_preview import CutPreview, preview_cut
from common.sentences import join_sentences


def describe_cut(unbatched: int, size: int, *, with_rest: bool) -> str:
    """How many batches of how many dialogues, and how many dialogues stay outside."""
    preview = preview_cut(unbatched, size, with_rest=with_rest)
    left = ngettext(
        "%(n)s dialogue stays outside batches.", "%(n)s dialogues stay outside batches.", preview.left
    )
    words = left % {"n": intcomma(preview.left)} if preview.left else ""
    return join_sentences([_describe_batches(preview, size), words])


def _describe_batches(preview: CutPreview, size: int) -> str:
    if not preview.batches:
        return _describe_full(1, preview.rest) if preview.rest else _("This cuts no batch.")
    if not preview.rest:
        return _describe_full(preview.batches, size)
    words = ngettext(
        "This cuts %(n)s batch of %(dialogues)s and a smaller one of %(rest)s.",
        "This cuts %(n)s batches of %(dialogues)s and a smaller one of %(rest)s.",
        preview.batches,
    )
    return words % {
        "n": intcomma(preview.batches),
        "dialogues": _count_dialogues(size),
        "rest": intcomma(preview.rest),
    }


def _describe_full(batches: int, size: int) -> str:
    words = ngettext(
        "This cuts %(n)s batch of %(dialogues)s.",
        "This cuts %(n)s batches of %(dialogues)s.",
        batches,
    )
    return words % {"n": intcomma(batches), "dialogues": _count_dialogues(size)}


def _count_dialogues(count: int) -> str:
    return ngettext("%(n)s dialogue", "%(n)s dialogues", count) % {"n": intcomma(count)}
