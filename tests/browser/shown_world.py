"""What the pages show on the pictures: the demo, and what only tests make (tests/browser/screenshots.py)."""

from __future__ import annotations

from io import StringIO
from typing import Any
from uuid import uuid4

from tests.browser.collection_shots import fill_collections
from tests.browser.report_shots import fill_report
from tests.browser.shots import World
from tests.browser.study_shots import fill_study


def fill_world() -> World:
    """The demo, one more person who has no project yet, an empty and an archived project, and a finished export."""
    from django.core.management import call_command

    from accounts.models import User
    from annotation.expert_review.services import claim_next_review
    from annotation.project_setup.services import create_project
    from annotation.tasks.models.work import Assignment
    from annotation.tasks.services.assignment import resume
    from dialogues.models import Dialogue
    from jobs.models import Job
    from jobs.services import run_job
    from preference.data.services.exports import start_export
    from preference.data.services.snapshots import take_snapshot
    from projects.models import Membership, Project, Role
    from projects.services import archive_project
    from tests.browser.judged import fill_judged
    from tests.browser.tagged import fill_topics

    call_command("seed_demo", stdout=StringIO())
    demo, people = Project.objects.get(slug="demo"), User.objects.in_bulk(field_name="username")
    User.objects.create_user("newcomer", display_name="Nils New")
    User.objects.create_superuser("root", display_name="Ruth Root")
    reader = User.objects.create_user("reader", display_name="Rita Reader")
    empty = create_project(slug="empty", preset="diamante", actor=people["mara"], title="New project 新项目")
    for person, role in (("ann", Role.ANNOTATOR), ("carlos", Role.CONTROLLER)):
        Membership.objects.create(project=empty, user=people[person], roles=[role])
    done = create_project(
        slug="done", preset="diqad", actor=people["mara"], title="Finished project 已完成的项目"
    )
    archive_project(project=done, actor=people["mara"])
    _waits_for_others(demo, reader)
    claim = claim_next_review(reviewer=people["carlos"], project=demo, claim_id=uuid4())
    export = start_export(
        export_id=uuid4(), project=demo, actor=people["eric"], format="diamante", include_unreviewed=True
    )
    run_job(job_id=export.job_id)
    snapshot = take_snapshot(
        snapshot_id=uuid4(), project=demo, actor=people["eric"], name="May", include_unreviewed=True
    )
    run_job(job_id=snapshot.job_id)
    anns = Assignment.objects.filter(annotator=people["ann"])
    taken_up = [
        resume(annotator=people[name], assignment_id=people[name].assignments.get(state="saved").pk)
        for name in ("ann", "lina")
    ]
    fill_study(people["mara"])
    fill_report(people["mara"])
    fill_collections(people["mara"])
    labelling, to_label, to_confirm = _labelled(people)
    disputed, decided = _disputed(people)
    asked, gold, attempt = _trained(people)
    scored, compared = fill_judged(people)
    tagged = fill_topics(demo, people["eric"])
    learned = _learned(demo, people)
    _delete_one(demo, people["mara"])
    return World(
        slug="demo",
        open_assignment=taken_up[0].pk,
        chinese_assignment=taken_up[1].pk,
        vetoed_assignment=anns.get(dialogue__review_state="vetoed").pk,
        dialogue=Dialogue.objects.filter(review_state="passed", metadata={}).earliest("id").pk,
        to_review=claim.dialogue_id,
        job=str(Job.objects.get(kind="import", project=demo).pk),
        exported=str(export.pk),
        snapshot=str(snapshot.pk),
        labelling=labelling,
        to_label=to_label,
        to_confirm=to_confirm,
        disputed=disputed.pk,
        decided=decided.dialogue_id or 0,
        asked=asked,
        gold=gold,
        attempt=attempt,
        sampled=_sampled(people),
        decided_sample=_decided_sample(people),
        scored=str(scored.pk),
        compared=str(compared.pk),
        tagged=str(tagged.pk),
        annotator=people["ann"].pk,
        webhook=_webhook(demo, people["mara"]),
        **learned,
    )


def _webhook(project: Any, actor: Any) -> str:
    """One with deliveries that arrived, wait and failed."""
    from django.utils import timezone

    from jobs.models import Job
    from projects.models import DeliveryProblem, DeliveryState, WebhookDelivery
    from projects.transitions import record
    from projects.webhooks.services import CHOICES, create_webhook

    url = "https://hooks.example.org/lapidary"
    row, _secret = create_webhook(
        project=project, actor=actor, webhook_id=uuid4(), url=url, events=CHOICES, description="Data lake"
    )
    for job in Job.objects.filter(project=project)[:4]:
        record(job, kind="state", project=project, before="running", after="done", data={"kind": job.kind})
    sent = {"attempts": 1, "status": 200, "milliseconds": 38, "ended_at": timezone.now()}
    rows = WebhookDelivery.objects.filter(webhook=row)
    rows.update(state=DeliveryState.DELIVERED, **sent)
    failed = {"status": 500, "problem": DeliveryProblem.ANSWER, "attempts": 434}
    rows.filter(pk=rows.earliest("pk").pk).update(state=DeliveryState.FAILED, **failed)
    return str(row.pk)


def _delete_one(project: Any, actor: Any) -> None:
    from dialogues.models import Dialogue
    from dialogues.services.deleting import delete_dialogue

    newest = Dialogue.objects.filter(project=project, review_state="passed").latest("id")
    delete_dialogue(dialogue=newest, actor=actor, reason="The author asked for it by letter of 3 May.")


def _labelled(people: dict[str, Any]) -> tuple[str, int, int]:
    """Helpdesk dialogues: one that ann labels, and one about which she and lina disagree. carlos has none left."""
    from annotation.labelling.services.submissions import SentLabels, submit_labels
    from annotation.tasks.services.claiming import claim_next_task
    from tests.browser.labelling import annotator, planned

    project = planned("dch", people["mara"], count=2, utterances=8, overlap=2, resolution="agreement")
    held = {}
    for name in ("ann", "lina"):
        annotator(name, project)
        held[name] = claim_next_task(annotator=people[name], project=project, claim_id=uuid4())
    for name, quality in (("ann", 1), ("lina", -1)):
        answers = {
            "dialogue": {"TS": quality, "TA": 1, "CS": 1, "HA": 1, "CA": 1},
            "utterances": {str(n): {"nugget": "CNUG" if n // 2 % 2 == 0 else "HNUG"} for n in range(8)},
        }
        note = "The problem is named in the first sentence." if name == "ann" else ""
        sent = SentLabels(id=uuid4(), schema=1, answers=answers, note=note)
        submit_labels(annotator=people[name], assignment_id=held[name].pk, sent=sent)
    annotator("carlos", project)
    taken = claim_next_task(annotator=people["ann"], project=project, claim_id=uuid4())
    claim_next_task(annotator=people["lina"], project=project, claim_id=uuid4())
    return project.slug, taken.pk, held["lina"].pk


def _disputed(people: dict[str, Any]) -> tuple[Any, Any]:
    """Two dialogues about which ann and lina still differ: one for carlos to decide, and one that he has decided."""
    from annotation.labelling.services.resolution import decide_dispute
    from tests.browser.labelling import planned
    from tests.browser.test_disputes import disputed, helpdesk, trainer

    project = planned("dch", people["mara"], count=2, slug="disputes", overlap=2, resolution="agreement")
    trainer(project, "carlos")
    first, second = (disputed(project, names=("ann", "lina")) for _n in range(2))
    reason = "She thanks for the help, and the second post only repeats the problem."
    decide_dispute(
        trainer=people["carlos"], task_id=second.pk, decision_id=uuid4(), answers=helpdesk(1), reason=reason
    )
    return first, second


def _sampled(people: dict[str, Any]) -> str:
    """A batch of 120 dialogues that ann labelled; carlos has judged forty of its sample, two against the label."""
    from annotation.batch_review.models import SampleItem
    from annotation.batch_review.services.judgements import SentJudgement, judge
    from tests.annotation.batch_review.conftest import diqad_answers
    from tests.browser.test_sample_review import drawn

    scores = [(2, 1, 2, 2, 0, 1)[n % 6] for n in range(120)]
    sample, carlos = drawn(
        people["mara"], scores, slug="sampled", names=("ann", "carlos"), overall_percent=92, class_percent=90
    )
    for item in SampleItem.objects.filter(sample=sample, place__lt=40):
        label = int(item.label) if item.place not in (11, 30) else 0
        judge(
            controller=carlos, item_id=item.pk, sent=SentJudgement(id=uuid4(), answers=diqad_answers(label))
        )
    return sample.round.project.slug


def _decided_sample(people: dict[str, Any]) -> str:
    """A batch whose sample can no longer pass after one of its eight judgements."""
    from annotation.batch_review.models import SampleItem
    from annotation.batch_review.services.judgements import SentJudgement, judge
    from tests.annotation.batch_review.conftest import diqad_answers
    from tests.browser.test_sample_review import drawn

    sample, carlos = drawn(
        people["mara"], [2] * 8, slug="decided-sample", names=("ann", "carlos"), overall_percent=90
    )
    item = SampleItem.objects.filter(sample=sample).earliest("place")
    judge(controller=carlos, item_id=item.pk, sent=SentJudgement(id=uuid4(), answers=diqad_answers(0)))
    return sample.round.project.slug


def _learned(demo: Any, people: dict[str, Any]) -> dict[str, str]:
    """Two models of the demo, the second trained from the first and in use, and a third that is being trained."""
    from datetime import timedelta

    from django.utils import timezone

    from jobs.models import Job, JobState
    from preference.registry.services.promotion import promote_model
    from preference.runs.models import TrainingRun
    from tests.frontend.trained import evaluated, learns
    from tests.preference.learning import run_of, snapshot_of, trained_model, training

    eric, snapshot = people["eric"], snapshot_of(demo)
    for column, dialogues in zip(snapshot.card["splits"], (540, 60), strict=True):
        column |= {"dialogues": dialogues, "replies": 7 * dialogues}
    snapshot.save()
    first = trained_model(demo, eric, snapshot, changes={"epochs": 2})
    second = trained_model(demo, people["mara"], snapshot, model=first.slug)
    for model, ease in ((first, 1.0), (second, 1.6)):
        learns(run_of(model), validate_every=10, ease=ease)
    base = evaluated(demo, snapshot, None, 0.18, base=first.base)
    evaluated(demo, snapshot, first, 0.43)
    evaluated(demo, snapshot, second, 0.51)
    reason = "Ranks the human reply first twice as often as the model before."
    for model, expected in ((first, None), (second, first.slug)):
        promote_model(
            promotion_id=uuid4(),
            model=model,
            project=demo,
            actor=eric,
            expected_current=expected,
            reason=reason,
        )
    run = learns(training(demo, eric, snapshot, model=second.slug), made=70, state=JobState.RUNNING)
    beat = timezone.now() + timedelta(days=1)
    Job.objects.filter(pk=run.pk).update(started_at=timezone.now(), heartbeat_at=beat, attempts=1)
    failed = learns(training(demo, eric, snapshot), made=12, state=JobState.FAILED)
    failure = {"error": "The loss is no longer a number.", "remedy": "Use a smaller peak_lr."}
    Job.objects.filter(pk=failed.pk).update(**failure)
    done = TrainingRun.objects.get(model=second)
    elsewhere = _model_from_elsewhere(demo, eric)
    return {
        "elsewhere": elsewhere.slug,
        "trained": str(done.pk),
        "in_training": str(run.pk),
        "model": second.slug,
        "evaluation": str(base.pk),
    }


def _model_from_elsewhere(demo: Any, eric: Any) -> Any:
    """A model trained on another machine, on data of which the demo has no snapshot, and one that waits to come home.

    It is registered without being loaded, because its weights are a placeholder.
    """
    from django.conf import settings

    from preference.registry.files import models_root
    from preference.registry.hashing import files_in, sha256_of
    from preference.registry.incoming import read_trained_folder
    from preference.registry.services.incoming import Origin
    from preference.runs.services.registration import TrainingResult, register_elsewhere
    from tests.preference.elsewhere import OTHER_DATA, incoming, measured, registration, trained_folder

    folder = trained_folder(models_root(), "qwen3-8b", base="Qwen/Qwen3-8B")
    report = measured(folder, OTHER_DATA)
    origin = Origin(folder=read_trained_folder(folder), snapshot=None, parent=None)
    trained = TrainingResult(
        config=origin.folder.config,
        metrics=origin.folder.metrics,
        files=files_in(origin.folder.model),
        sha256=sha256_of(origin.folder.model),
        version="qwen3-8b/model@0123456789ab",
        report={"evaluation": report},
    )
    incoming(settings.MODELS_ROOT, "llama-1b")
    registration(demo, "llama-1b", eric)
    note = "Trained on 8 GPUs in 3 hours."
    return register_elsewhere(
        project=demo, actor=eric, trained=trained, origin=origin, folder="qwen3-8b/model", slug="", note=note
    )


def _trained(people: dict[str, Any]) -> tuple[int, int, str]:
    """A dialogue that ann asks about, one that tina made gold, and ann's try at the test, begun."""
    from annotation.onboarding.models import MessageKind
    from annotation.onboarding.services.admission_tests import update_admission_test
    from annotation.onboarding.services.gold import make_gold
    from annotation.onboarding.services.threads import ask_question, reply_to_thread
    from annotation.onboarding.services.tries import answer_item, start_try
    from annotation.tasks.services.claiming import claim_next_task
    from dialogues.models import Dialogue
    from projects.services import update_project
    from tests.browser.labelling import annotator, planned
    from tests.browser.test_disputes import trainer

    project = planned("diqad", people["mara"], count=5, slug="training", order="given")
    tina = trainer(project, "tina")
    annotator("lina", project)
    held = claim_next_task(annotator=annotator("ann", project), project=project, claim_id=uuid4())
    question_id, right = uuid4(), {"dialogue": {"verify": 0, "quality": 2}, "utterances": {}}
    text = "The reply asks him to ring the bank. Does that answer his question, or only send him away?"
    ask_question(
        asker=people["ann"], project=project, dialogue_id=held.dialogue_id, thread_id=question_id, text=text
    )
    text = "It answers it where the bank alone can say; write “less informative” if no number is given."
    reply_to_thread(
        author=tina, thread_id=question_id, message_id=uuid4(), kind=MessageKind.DECISION, text=text, faq=True
    )
    free = list(Dialogue.objects.filter(project=project).exclude(pk=held.dialogue_id).order_by("id")[:3])
    for dialogue in free:
        reason = "Every question is answered, with the next step."
        make_gold(trainer=tina, project=project, dialogue_id=dialogue.pk, answers=right, explanation=reason)
    update_admission_test(trainer=tina, project=project, changes={"is_on": True})
    attempt = start_try(annotator=people["ann"], project=project, try_id=uuid4())
    answer_item(annotator=people["ann"], try_id=attempt.pk, place=0, answers=right)
    for text in ("Read everything first.", "Read everything first, then look at the answers once more."):
        update_project(project=project, actor=tina, changes={"guidelines_en": text})
    return held.dialogue_id, free[0].pk, str(attempt.pk)


def _waits_for_others(demo: Any, reader: Any) -> None:
    """An expert for whom nothing is left, although something waits."""
    from annotation.expert_review.selectors import dialogues_to_review
    from annotation.tasks.models.work import Assignment, Task
    from projects.models import Membership, Role

    Membership.objects.create(project=demo, user=reader, roles=[Role.CONTROLLER])
    for dialogue in dialogues_to_review(demo):
        Assignment.objects.create(
            task=Task.objects.create(project=demo, open_slots=0), project=demo, annotator=reader,
            dialogue=dialogue, claim_id=uuid4(), lease_until="2026-01-01T00:00Z", state="released",
        )  # fmt: skip
