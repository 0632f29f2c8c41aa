"""Small defects, each of which the named tests must notice: a list of mutations of the code that decides.

`old` occurs exactly once in the file. When the code changes, the entry changes with it.
"""

from tests.defects.defect import Defect
from tests.defects.trust import TRUST_DEFECTS

CLAIM_SQL = "annotation/tasks/services/claim_sql.py"
CLAIMING = "annotation/tasks/services/claiming.py"
LEASES = "annotation/tasks/services/assignment.py"
RESOLUTION = "annotation/labelling/services/resolution.py"
SUBMISSIONS = "annotation/labelling/services/submissions.py"
MERGING = "annotation/labelling/services/final_answers.py"
ELIGIBILITY = "annotation/batch_review/selectors/eligibility.py"
VERDICT = "measures/batch_verdict.py"
ACCEPTANCE = "measures/acceptance.py"
PROVENANCE = "annotation/authoring/services/provenance.py"
TURNS = "annotation/authoring/services/turns.py"
RANDOM_REPLIES = "preference/data/selectors/random_replies.py"
WORKER = "generation/worker.py"
GENERATION_LEASES = "generation/leases.py"

LABEL_CLAIMS = "tests/annotation/labelling/test_assignment.py"
CLAIMS = "tests/annotation/tasks/test_assignment.py"
RESOLVED = "tests/annotation/labelling/test_resolution.py"
LABELLED = "tests/annotation/labelling/test_labelling.py"
JUDGED = "tests/annotation/batch_review/test_judgements.py"
VERDICTS = "tests/annotation/batch_review/test_verdicts.py"
DERIVED = "tests/annotation/authoring/test_provenance.py"
WRITTEN = "tests/annotation/authoring/test_turns.py"
FORMATS = "tests/preference/data/test_training_formats.py"
ANSWERED = "tests/generation/test_worker.py"

DEFECTS = (
    Defect(
        "a sample weighted by class is returned at exactly its threshold",
        VERDICT,
        "share is not None and share >= exact_fraction(overall)",
        "share is not None and share > exact_fraction(overall)",
        ("tests/measures/test_acceptance.py",),
    ),
    Defect(
        "people of other groups count for the balance",
        CLAIM_SQL,
        """ AND theirs."group" = member."group\"""",
        "",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "people who left long ago count for the balance",
        CLAIM_SQL,
        "AND other.active_at >= %(since)s AND",
        "AND %(since)s::timestamptz IS NOT NULL AND",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "people for whom nothing was left count for the balance",
        CLAIM_SQL,
        "        AND (other.drained_at IS NULL OR other.epoch <> %(epoch)s)\n",
        "",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "tasks of other groups are given out",
        CLAIM_SQL,
        """ AND task."group" = %(group)s AND task.open_slots > 0""",
        " AND %(group)s::text IS NOT NULL AND task.open_slots > 0",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "held tasks of other groups count when nothing is left",
        CLAIMING,
        "        task__group__in=claim.groups,\n    ).exclude(annotator=claim.annotator)",
        "    ).exclude(annotator=claim.annotator)",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "a held task that the person has had counts when nothing is left",
        CLAIMING,
        'claim.exclude_own(others, "task").aggregate',
        "others.aggregate",
        (LABEL_CLAIMS, CLAIMS),
    ),
    Defect(
        "the limit of a person is one too high",
        CLAIMING,
        "if limit is None or claim.claimant.taken < limit:",
        "if limit is None or claim.claimant.taken <= limit:",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "the balance allows one too many",
        CLAIMING,
        "    if ahead < balance:",
        "    if ahead <= balance:",
        (LABEL_CLAIMS,),
    ),
    Defect(
        "a lease that is renewed between listing and locking is reaped",
        LEASES,
        "over.filter(pk=assignment_id, state__in=HELD, lease_until__lt=clock.now())",
        "over.filter(pk=assignment_id, state__in=HELD)",
        (LABEL_CLAIMS, CLAIMS),
    ),
    Defect(
        "a task that has gone to another group is taken up again",
        LEASES,
        'open_task = open_task.filter(group__in=["", _group_of(assignment)])',
        "pass",
        (LABEL_CLAIMS, "tests/annotation/batch_review/test_regrouping.py"),
    ),
    Defect(
        "the same text in two candidate sets takes the first set",
        PROVENANCE,
        "for candidate_set in sorted(shown, key=lambda each: each != picked):",
        "for candidate_set in shown:",
        (DERIVED,),
    ),
    Defect(
        "candidates of a wording that was undone count as shown",
        TURNS,
        "request__context_hash=picked.request.context_hash, request__wanted_at__isnull=False",
        "request__wanted_at__isnull=False",
        (WRITTEN,),
    ),
    Defect(
        "candidates made ahead that nobody saw count as shown",
        TURNS,
        "request__context_hash=picked.request.context_hash, request__wanted_at__isnull=False",
        "request__context_hash=picked.request.context_hash",
        (WRITTEN,),
    ),
    Defect(
        "a rewritten turn names no candidate set",
        PROVENANCE,
        "DerivedProvenance(Action.REWRITE, shown[-1] if shown else None)",
        "DerivedProvenance(Action.REWRITE)",
        (DERIVED, WRITTEN),
    ),
    Defect(
        "an answer to a question that is not compared becomes final though only one person gave it",
        MERGING,
        "return given[0] if all(value == given[0] for value in values) else None",
        "return given[0] if all(value == given[0] for value in given) else None",
        (RESOLVED,),
    ),
    Defect(
        "a tie takes the first answer",
        MERGING,
        "    return None, False\n",
        "    return values[0], True\n",
        (RESOLVED,),
    ),
    Defect(
        "people who confirm different answers are asked for ever",
        RESOLUTION,
        "TaskState.DISPUTED if all(confirmed) else outcome.state",
        "outcome.state",
        (LABELLED,),
    ),
    Defect(
        "a task is final before all of its people have answered",
        RESOLUTION,
        "    if len(live) < task.overlap:",
        "    if len(live) < task.overlap - 1:",
        (LABELLED,),
    ),
    Defect(
        "a trainer decides what they labelled",
        RESOLUTION,
        "if Submission.objects.filter(task=task, annotator=trainer).exists():",
        "if False:",
        (LABELLED,),
    ),
    Defect(
        "labels that were withdrawn can be sent",
        RESOLUTION,
        "    if task.state == TaskState.WITHDRAWN:",
        "    if False:",
        ("tests/annotation/batch_review/test_returning.py", LABELLED),
    ),
    Defect(
        "somebody changes labels that a trainer decides",
        SUBMISSIONS,
        "    if task.state == TaskState.DISPUTED or is_decided(task):",
        "    if is_decided(task):",
        (LABELLED,),
    ),
    Defect(
        "a controller judges labels that they decided",
        ELIGIBILITY,
        "~Exists(own_judgement) & ~full & ~Exists(answered) & ~Exists(decided)",
        "~Exists(own_judgement) & ~full & ~Exists(answered)",
        (JUDGED,),
    ),
    Defect(
        "a controller judges labels that they gave",
        ELIGIBILITY,
        "~Exists(own_judgement) & ~full & ~Exists(answered) & ~Exists(decided)",
        "~Exists(own_judgement) & ~full & ~Exists(decided)",
        (JUDGED,),
    ),
    Defect(
        "one person judges an item twice",
        ELIGIBILITY,
        "~Exists(own_judgement) & ~full &",
        "~full &",
        (JUDGED,),
    ),
    Defect(
        "a class without an item in the sample returns the batch",
        VERDICT,
        " for tally, right in pairs if tally.sample)",
        " for tally, right in pairs)",
        ("tests/measures/test_acceptance.py", VERDICTS),
    ),
    Defect(
        "a sample needs one correct label too many",
        ACCEPTANCE,
        "correct >= acceptance_number(sample, threshold)",
        "correct > acceptance_number(sample, threshold)",
        ("tests/measures/test_acceptance.py",),
    ),
    Defect(
        "classes count the same, whatever their size",
        ACCEPTANCE,
        "Fraction(s.population * s.correct, total * s.sample) for s in present",
        "Fraction(s.correct, len(present) * s.sample) for s in present",
        ("tests/measures/test_acceptance.py",),
    ),
    Defect(
        "a random reply is from the dialogue itself",
        RANDOM_REPLIES,
        "reply.dialogue_id != dialogue_id and normalize_spaces",
        "normalize_spaces",
        (FORMATS,),
    ),
    Defect(
        "a random reply is one of the candidates",
        RANDOM_REPLIES,
        " and normalize_spaces(reply.text) not in not_:",
        ":",
        (FORMATS,),
    ),
    Defect(
        "requests of one model and of two are decoded in one batch",
        WORKER,
        "        second_generator=first.second_generator_id,\n",
        "",
        (ANSWERED, "tests/generation/test_mixing.py"),
    ),
    Defect(
        "requests with other sampling are decoded in one batch",
        WORKER,
        "        sampling=first.sampling,\n",
        "",
        (ANSWERED,),
    ),
    Defect(
        "a late worker stores over the one that took over",
        WORKER,
        "pk=request.pk, state=RequestState.RUNNING, worker=request.worker, attempts=request.attempts",
        "pk=request.pk, state=RequestState.RUNNING",
        (ANSWERED,),
    ),
    Defect(
        "a late worker renews, or fails, the requests of another",
        GENERATION_LEASES,
        "state=RequestState.RUNNING, worker=batch[0].worker)",
        "state=RequestState.RUNNING)",
        (ANSWERED,),
    ),
    *TRUST_DEFECTS,
)
