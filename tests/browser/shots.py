"""Which pages `make screenshots` takes, as whom, and what is done before (tests/browser/screenshots.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Page

CANDIDATES_MS: Final = 240_000  # the first ones wait for the model to load


@dataclass(frozen=True, slots=True)
class World:
    """What the addresses of the pages need."""

    slug: str
    open_assignment: int
    chinese_assignment: int
    vetoed_assignment: int
    dialogue: int
    to_review: int
    job: str
    exported: str
    snapshot: str
    labelling: str
    to_label: int
    to_confirm: int
    disputed: int
    decided: int
    asked: int
    gold: int
    attempt: str
    sampled: str
    decided_sample: str
    scored: str
    compared: str
    tagged: str
    trained: str
    in_training: str
    model: str
    elsewhere: str
    evaluation: str
    annotator: int
    webhook: str


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture. name: of the address, and of the file unless `file` says another. who: "" for a guest.

    args: of the address. act: what is done before the picture. main: taken in three widths. whole: all of a page that
    is longer than the window.
    """

    name: str
    who: str = "ann"
    args: Callable[[World], Sequence[object]] = lambda world: ()
    act: Callable[[Page], object] = lambda page: None
    file: str = ""
    address: str = ""
    main: bool = False
    whole: bool = True

    @property
    def stem(self) -> str:
        return (self.file or self.name).replace("_", "-")


def in_project(world: World) -> Sequence[object]:
    return (world.slug,)


def write(page: Page, more: str = " What else is in the book?") -> None:
    """Wait for candidates, take one and change it."""
    page.wait_for_selector("html[data-ready]")
    page.wait_for_selector("#candidates [data-place]", timeout=CANDIDATES_MS)
    page.fill("#words", "")
    page.keyboard.press("2")
    page.locator("#words").press("End")
    page.locator("#words").press_sequentially(more)
    page.wait_for_timeout(400)


def write_chinese(page: Page) -> None:
    write(page, "你一般几点睡？")


def judge(page: Page) -> None:
    """Stand on an utterance with a remark, a reason half written."""
    page.wait_for_selector("html[data-ready]")
    page.locator(".remark summary").nth(4).click()
    page.fill("[name=remark-4]", "Answers a question that nobody asked.")
    page.fill("#reason", "The topic changes in the middle without any reason.")
    page.locator("#u4").scroll_into_view_if_needed()


def label(page: Page) -> None:
    """The ratings of a helpdesk dialogue, half of its nuggets, the guidelines of the next one open."""
    page.wait_for_selector("html[data-ready]")
    for key in ("y", "y", "4", "y", "y", "1", "1", "2", "2", "3"):
        page.keyboard.press(key)
    page.keyboard.press("g")
    page.wait_for_timeout(800)


def wait_until_ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]")


def nothing_left(page: Page) -> None:
    page.wait_for_selector("#nothing")


def previous_submissions(page: Page) -> None:
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("Control+Shift+p")
    page.wait_for_selector("#previous li")


def decide(page: Page) -> None:
    """One of the two questions is decided, the nugget is next."""
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("4")


def judge_blind(page: Page) -> None:
    """Another label than the annotators', who are seen now."""
    page.wait_for_selector("html[data-ready]")
    for key in ("n", "0", "1", "Control+Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#next:visible")


def open_people(page: Page) -> None:
    page.locator(".person > summary").first.click()
    page.evaluate("scrollTo(0, 0)")


def open_keys(page: Page) -> None:
    page.wait_for_selector("html[data-ready]")
    page.locator("[data-opens=keys]").first.click()
    page.wait_for_selector("#keys[open]")


def open_tables(page: Page) -> None:
    for summary in page.locator(".plot summary").all():
        summary.click()
    page.evaluate("scrollTo(0, 0)")


def open_topics(page: Page) -> None:
    page.locator("#topics summary").click()


def open_settings(page: Page) -> None:
    page.locator(".recipe-settings > summary").click()
    page.evaluate("scrollTo(0, 0)")


def open_log(page: Page) -> None:
    page.locator("#log > summary").click()
    page.evaluate("scrollTo(0, 0)")


def compare_all(page: Page) -> None:
    for box in page.locator("[name=run]").all():
        box.check()
    page.get_by_role("button", name="Compare").or_(page.get_by_role("button", name="比较")).click()
    page.locator("#results").wait_for()
    page.evaluate("scrollTo(0, 0)")


def invite_nora(page: Page) -> None:
    page.locator("#person_name").fill("Nora Ng")
    page.locator("form[action$='/one/'] button[type=submit]").click()
    page.locator("#links").wait_for()


def check_list(page: Page) -> None:
    page.locator("#list_people").fill("name,email,role\nOle,ole@example.org,annotator\nBo,bo@,boss\n")
    page.locator("form[action$='/list/'] button[type=submit]").click()
    page.locator("table").wait_for()


SHOTS: Final = [
    Shot("home", main=True),
    Shot("home", who="mara", file="home-manager"),
    Shot("home", who="newcomer", file="home-empty"),
    Shot("project", who="mara", args=in_project, main=True),
    Shot("project", who="ann", args=in_project, file="project-annotator"),
    Shot("guidelines", args=in_project),
    Shot("new_project", who="root"),
    Shot("project_settings", who="mara", args=in_project),
    Shot("members", who="mara", args=in_project),
    Shot("invitations", who="mara", args=in_project, act=invite_nora),
    Shot("invitations", who="mara", args=in_project, act=check_list, file="invitations-list"),
    Shot("jobs", who="eric", args=in_project),
    Shot("job", who="eric", args=lambda world: (world.slug, world.job)),
    Shot("queue", args=in_project, main=True),
    Shot("queue", who="lina", args=in_project, file="queue-lina"),
    Shot("workbench", args=lambda w: (w.slug, w.open_assignment), act=write, main=True, whole=False),
    Shot("workbench", who="lina", args=lambda w: (w.slug, w.chinese_assignment), act=write_chinese,
         file="workbench-lina", whole=False),
    Shot("workbench", args=lambda w: (w.slug, w.open_assignment), act=open_keys, file="workbench-keys", whole=False),
    Shot("workbench", args=lambda w: (w.slug, w.vetoed_assignment), file="workbench-finished", whole=False),
    Shot("label", args=lambda w: (w.labelling, w.to_label), act=label, main=True, whole=False),
    Shot("label", who="lina", args=lambda w: (w.labelling, w.to_confirm), act=wait_until_ready,
         file="label-confirm", whole=False),
    Shot("label", args=lambda w: (w.labelling, w.to_label), act=previous_submissions, file="label-previous",
         whole=False),
    Shot("label_next", who="carlos", args=lambda w: (w.labelling,), act=nothing_left, file="label-nothing",
         whole=False),
    Shot("confirmations", who="lina", args=lambda w: (w.labelling,)),
    Shot("disputes", who="carlos", args=lambda w: ("disputes",), main=True),
    Shot("dispute", who="carlos", args=lambda w: ("disputes", w.disputed), act=decide, main=True, whole=False),
    Shot("batches", who="mara", args=lambda w: ("quality",), main=True),
    Shot("batch", who="carlos", args=lambda w: ("quality", 1), main=True),
    Shot("batch_boards", who="mara", args=lambda w: ("quality",)),
    Shot("accuracy", args=lambda w: ("quality",)),
    Shot("appeals", who="tina", args=lambda w: ("quality",)),
    Shot("sample", who="carlos", args=lambda w: (w.sampled, 1), act=judge_blind, main=True, whole=False),
    Shot("sample", who="carlos", args=lambda w: (w.decided_sample, 1), act=wait_until_ready, file="sample-decided",
         main=True, whole=False),
    Shot("dialogue", who="carlos", args=lambda w: ("disputes", w.decided), act=open_people, file="dialogue-labels",
         main=True),
    Shot("project", who="tina", args=lambda w: ("quality",), file="project-labelling"),
    Shot("project_settings", who="mara", args=lambda w: ("quality",), file="project-settings-labelling"),
    Shot("project_copy", who="mara", args=in_project),
    Shot("hub_token", who="mara", args=in_project),
    Shot("webhooks", who="mara", args=in_project),
    Shot("webhook", who="mara", args=lambda w: (w.slug, w.webhook)),
    Shot("history", who="mara", args=in_project),
    Shot("project_delete", who="mara", args=lambda world: ("done",)),
    Shot("project_delete", who="mara", args=lambda world: ("empty",), file="project-delete-refused"),
    Shot("person", who="mara", args=lambda w: (w.labelling, w.annotator), main=True),
    Shot("dialogue_delete", who="mara", args=lambda w: (w.slug, w.dialogue)),
    Shot("dialogues_deleted", who="mara", args=in_project),
    Shot("archived_projects", who="mara"),
    Shot("import_undo", who="mara", args=lambda w: (w.slug, w.job)),
    Shot("project_replan", who="mara", address="/p/quality/settings/labelling/replan/?overlap=5"),
    Shot("members", who="mara", args=lambda w: ("quality",), file="members-groups"),
    Shot("queue", args=lambda w: ("quality",), file="queue-labelling"),
    Shot("guidelines", args=lambda w: ("quality",), file="guidelines-labelling"),
    Shot("schema", who="mara", args=lambda w: ("quality",), act=wait_until_ready, whole=False, main=True),
    Shot("schema_version", args=lambda w: ("quality", 1)),
    Shot("disagreement", who="tina", args=lambda w: ("quality",)),
    Shot("statistics", who="mara", args=lambda w: ("helpdesk",), file="statistics-labels", main=True),
    Shot("statistics", who="mara", args=lambda w: ("training",), file="statistics-labels-empty"),
    Shot("threads", args=lambda w: ("training",)),
    Shot("thread", who="tina", args=lambda w: ("training", w.asked)),
    Shot("admission_test", who="tina", args=lambda w: ("training",), main=True),
    Shot("gold", who="tina", args=lambda w: ("training", w.gold), whole=False),
    Shot("admission", who="lina", args=lambda w: ("training",)),
    Shot("admission_try", args=lambda w: ("training", w.attempt), whole=False, main=True),
    Shot("guidelines_history", args=lambda w: ("training",)),
    Shot("review", who="carlos", args=in_project, main=True),
    Shot("review", who="reader", args=in_project, file="review-own"),
    Shot("review_dialogue", who="carlos", args=lambda w: (w.slug, w.to_review), act=judge, main=True, whole=False),
    Shot("dialogues", who="eric", args=in_project),
    Shot("dialogue", who="eric", args=lambda w: (w.slug, w.dialogue), main=True),
    Shot("statistics", who="mara", args=in_project, main=True),
    Shot("statistics", who="mara", args=in_project, act=open_tables, file="statistics-tables"),
    Shot("statistics", who="mara", args=lambda world: ("empty",), file="statistics-empty"),
    Shot("review", who="carlos", args=lambda world: ("empty",), file="review-empty"),
    Shot("queue", args=lambda world: ("empty",), file="queue-empty"),
    Shot("imports", who="eric", args=in_project),
    Shot("import", who="eric", args=lambda w: (w.slug, w.job)),
    Shot("exports", who="eric", args=in_project),
    Shot("export", who="eric", args=lambda w: (w.slug, w.exported)),
    Shot("snapshots", who="eric", args=in_project),
    Shot("snapshot", who="eric", args=lambda w: (w.slug, w.snapshot), main=True),
    Shot("trainings", who="eric", args=in_project, main=True),
    Shot("trainings", who="mara", args=lambda world: ("empty",), file="trainings-empty"),
    Shot("training_new", who="eric", args=in_project, act=open_settings, main=True),
    Shot("training_run", who="eric", args=lambda w: (w.slug, w.in_training), main=True),
    Shot("training_run", who="eric", args=lambda w: (w.slug, w.trained), act=open_log, file="training-run-done"),
    Shot("training_comparison", who="eric", args=in_project, act=compare_all, main=True),
    Shot("models", who="eric", args=in_project, main=True),
    Shot("models", who="mara", args=lambda world: ("empty",), file="models-empty"),
    Shot("model", who="eric", args=lambda w: (w.slug, w.model), main=True),
    Shot("model", who="eric", args=lambda w: (w.slug, w.elsewhere), file="model-elsewhere", main=True),
    Shot("evaluation", who="eric", args=lambda w: (w.slug, w.evaluation)),
    Shot("evaluators", who="eric", args=in_project),
    Shot("scoring_new", who="eric", address="/p/demo/evaluators/new/?evaluator=paireval"),
    Shot("scoring_run", who="mara", args=lambda w: ("judged", w.scored), main=True),
    Shot("scoring_machine_labels", who="mara", args=lambda w: ("judged", w.scored)),
    Shot("meta_evaluation", who="mara", args=lambda w: ("judged", w.compared), main=True),
    Shot("topics", who="mara", args=in_project, main=True),
    Shot("topics", who="mara", args=lambda world: ("empty",), file="topics-empty"),
    Shot("tagging_new", who="eric", address="/p/demo/topics/new/?tagger=judge"),
    Shot("tagging_run", who="eric", args=lambda w: (w.slug, w.tagged)),
    Shot("project_settings", who="mara", args=in_project, act=open_topics, file="project-settings-topics"),
    Shot("profile"),
    Shot("api_tokens", who="eric"),
    Shot("account_login", who="", main=True),
    Shot("account_signup", who=""),
    Shot("account_reset_password", who=""),
    Shot("account_reset_password_done", who=""),
    Shot("account_inactive", who=""),
    Shot("account_logout"),
    Shot("account_email"),
    Shot("account_change_password"),
    Shot("account_reauthenticate"),
    Shot("usersessions_list"),
    Shot("mfa_index"),
    Shot("mfa_activate_totp"),
    Shot("socialaccount_connections"),
    Shot("socialaccount_login_cancelled", who=""),
    Shot("socialaccount_login_error", who=""),
    Shot("error", address="/p/there-is-no-such-project/", file="error-404"),
    Shot("error", address="/p/demo/statistics/", file="error-403"),
]  # fmt: skip
README_SHOTS: Final = {
    ("workbench", "en", "light"), ("workbench-lina", "zh-hans", "dark"),
    ("statistics", "en", "light"), ("review-dialogue", "en", "light"),
    ("join-chat", "en", "light"), ("run", "en", "light"),
    ("assessment-report-systems", "en", "light"),
}  # fmt: skip
# Addresses without a page of their own: what buttons send to, files, answers for machines.
NO_PAGES: Final = {
    "model_report",
    *(
        "healthz",
        "readyz",
        "metrics",
        "service_worker",
        "message_catalog",
        "message_catalog_json",
        "set_language",
        "set_theme",
        "claim",
        "resume",
        "take_back",
    ),
    *(
        "veto_read",
        "review_next",
        "review_verdict",
        "review_undo",
        "review_leave",
        "statistics_download",
        "accuracy_file",
    ),
    *("statistics_compute", "project_replan_undo", "import_language"),
    *("project_authoring", "project_labelling", "project_plan", "project_archive", "guidelines_preview"),
    *("project_deletion_cancel", "project_deletion_retry"),
    *("schema_yaml", "schema_version_yaml", "schema_preset", "schema_use"),
    *("guidelines_read", "thread_faq", "member_group", "gold_retire", "admission_test_edition"),
    *("admission_begin", "admission_answer", "admission_grant"),
    *(
        "batches_cut",
        "batches_plan",
        "round_accept",
        "round_draw",
        "round_group",
        "round_return",
        "round_seal",
        "round_undo_acceptance",
        "round_undo_return",
    ),
    *("round_unseal", "appeal", "appeal_settle", "batch_boards_download"),
    *(
        "member_add",
        "member_invite",
        "member_roles",
        "member_remove",
        "member_password",
        "member_password_link",
        "member_languages",
        "person_file",
        "person_rate",
        "invite_one",
        "invite_list",
        "invitation_link",
        "invitation_revoke",
        "job_cancel",
        "job_retry",
    ),
    *("import_preview", "import_errors", "import_cancel", "import_retry", "revoke_api_token"),
    *("export_file", "export_manifest", "export_remove", "export_cancel", "export_retry"),
    *(
        "snapshot_file",
        "snapshot_push",
        "snapshot_remove",
        "snapshot_cancel",
        "snapshot_retry",
        "hub_token_remove",
    ),
    *("webhook_secret", "webhook_switch", "webhook_test", "webhook_replay", "webhook_remove"),
    *("training_cancel", "training_resume", "training_remove", "training_log", "training_download"),
    "training_comparison_download",
    *("model_offer", "model_stop_sharing", "model_accept", "model_decline"),
    *(
        "model_promote",
        "model_edit",
        "model_remove",
        "model_card",
        "model_readme",
        "model_file",
        "comparison_download",
        "promotion_undo",
    ),
    *("evaluate", "evaluation_cancel", "evaluation_retry", "evaluation_download"),
    *("scoring_cancel", "scoring_retry", "scoring_download", "meta_evaluation_start"),
    *("scoring_order_queue", "scoring_undo_order"),
    *(
        "tagging_cancel",
        "tagging_retry",
        "tagging_undo",
        "topics_download",
        "dialogue_topic",
        "project_topics",
    ),
    *("meta_evaluation_cancel", "meta_evaluation_retry", "meta_evaluation_download"),
    *("mfa_download_recovery_codes", "openid_connect_login", "openid_connect_callback"),
}
# Pages that lie in the middle of something: a letter's link, a second factor that is set up, another site's answer, a
# job that deletes the project that it is about.
IN_BETWEEN: Final = {
    "project_deletion",
    *(
        "account_set_password",
        "account_email_verification_sent",
        "account_confirm_email",
        "account_confirm_login_code",
    ),
    *("account_reset_password_from_key", "account_reset_password_from_key_done", "socialaccount_signup"),
    *("mfa_authenticate", "mfa_reauthenticate", "mfa_deactivate_totp", "mfa_view_recovery_codes"),
    *("mfa_generate_recovery_codes", "password_link", "operator_password_link", "invitation"),
}
