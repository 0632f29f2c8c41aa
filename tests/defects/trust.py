"""What an attack on the product found, put back: each entry is how something behaved before it was mended."""

from tests.defects.defect import Defect

MIDDLEWARE = "config/middleware.py"
SUBMISSIONS = "annotation/labelling/services/submissions.py"
TRIES = "annotation/onboarding/services/tries.py"
DATABASE = "config/database_timeouts.py"

TRUST_DEFECTS = (
    Defect(
        "a file is read before the person is known to be allowed to import",
        MIDDLEWARE,
        'project_for(request.user, address["slug"], Capability.IMPORT)',
        "pass",
        ("tests/config/test_middleware.py",),
    ),
    Defect(
        "any number of files is read at once",
        MIDDLEWARE,
        "            with uploads.one_of_few():\n                return self.get_response(request)",
        "            return self.get_response(request)",
        ("tests/config/test_middleware.py",),
    ),
    Defect(
        "labels that are sent after those of others were shown are independent",
        SUBMISSIONS,
        "    if locked.saw_labels or is_confirming:",
        "    if is_confirming:",
        ("tests/annotation/labelling/test_labelling.py",),
    ),
    Defect(
        "the person who is tested chooses the dialogues of the test",
        TRIES,
        "seed = secrets.randbits(62)",
        "seed = try_id.int >> 66",
        ("tests/annotation/onboarding/test_admission.py",),
    ),
    Defect(
        "whoever draws a sample chooses its seed",
        "annotation/batch_review/services/sample_drawing.py",
        "seed=new_seed(),",
        "seed=sample_id.int >> 66,",
        ("tests/annotation/batch_review/test_sample_drawing.py", "tests/annotation/batch_review/test_api.py"),
    ),
    Defect(
        "gold whose label the person has seen is drawn like other gold",
        TRIES,
        "key=lambda one: one.pk in known",
        "key=lambda one: 0",
        ("tests/annotation/onboarding/test_admission.py",),
    ),
    Defect(
        "a judgement that was changed after the label was shown counts",
        "annotation/batch_review/services/judgements.py",
        "if earlier and item.sample.is_blind and answers != earlier.answers:",
        "if False:",
        ("tests/annotation/batch_review/test_judgements.py",),
    ),
    Defect(
        "an id that was used for another request is answered with the first result",
        "common/idempotency.py",
        "if first != value:",
        "if False:",
        ("tests/common/test_idempotency.py",),
    ),
    Defect(
        "a request waits for a lock without limit",
        DATABASE,
        'WEB: Final = {"lock_timeout": 10.0,',
        'WEB: Final = {"lock_timeout": 0.0,',
        ("tests/config/test_database_timeouts.py",),
    ),
    Defect(
        "a server without a free thread is ready",
        "config/health.py",
        '"threads": BUSY_THREADS.has_free}',
        '"threads": True}',
        ("tests/config/test_health.py",),
    ),
    Defect(
        "any number of brackets is parsed",
        "frontend/ui/markdown.py",
        "MAX_BRACKETS = 5_000",
        "MAX_BRACKETS = 5_000_000",
        ("tests/frontend/test_markdown_bounds.py",),
    ),
    Defect(
        "a trained model is offered to every project",
        "generation/selectors.py",
        "return Q(project=None) | Q(project__in=keys) | Q(shared_with__in=keys)",
        "return ~Q(pk=None)",
        ("tests/generation/test_generator_scope.py",),
    ),
    Defect(
        "the address that a client puts into X-Forwarded-For is believed",
        "config/settings.py",
        'env.int("TRUSTED_PROXIES", default=int(BEHIND_PROXY), validate=AT_LEAST_0)',
        "5",
        ("tests/config/test_production.py",),
    ),
    Defect(
        "failed sign-ins elsewhere lock the owner out",
        "accounts/adapters.py",
        'return f"{by_name}:{self.get_client_ip(request)}"',
        "return str(by_name)",
        ("tests/accounts/test_limits.py",),
    ),
    Defect(
        "NUL in an address reaches the database",
        MIDDLEWARE,
        """if "\\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):""",
        "if False:",
        ("tests/config/test_middleware.py",),
    ),
    Defect(
        "a change of a project that is refused is half stored",
        "projects/api.py",
        "            project_for(user, slug, Capability.MANAGE_MEMBERS)  # before anything is changed\n"
        "        with transaction.atomic():",
        "            pass\n        if True:",
        ("tests/projects/test_api.py",),
    ),
    Defect(
        "a token is given the wider scopes of another",
        "accounts/services.py",
        "_check_within(by, first.scopes, first.expires_at)",
        "pass",
        ("tests/accounts/test_services.py",),
    ),
    Defect(
        "people who left a project read the dialogues that they hold",
        "annotation/tasks/selectors/assignments.py",
        "(own if user.is_superuser else own.filter(Exists(membership))).first()",
        "own.first()",
        ("tests/annotation/tasks/test_assignment.py", "tests/annotation/labelling/test_labelling.py"),
    ),
    Defect(
        "exported files can be read by every account of the machine",
        "preference/data/formats/writing.py",
        "PRIVATE = 0o600",
        "PRIVATE = 0o644",
        ("tests/preference/data/test_exports.py",),
    ),
    Defect(
        "a download leaves no event",
        "preference/data/services/downloads.py",
        '    record(row, kind=DOWNLOADED, project=project, actor=person, data={"file": name})',
        "    return",
        ("tests/preference/data/test_downloads.py",),
    ),
    Defect(
        "a billion epochs are accepted",
        "preference/training/common/recipes.py",
        '        "epochs": 1_000,\n',
        "",
        ("tests/preference/training/common/test_largest_settings.py",),
    ),
    Defect(
        "requests at the same time count as one",
        "accounts/rest/throttling.py",
        "            return int(self.cache.incr(key))",
        "            return 1",
        ("tests/accounts/test_limits.py",),
    ),
    Defect(
        "a cell that begins with a tab is a formula",
        "common/spreadsheets.py",
        r"""("=", "+", "-", "@", "\t", "\r")""",
        """("=", "+", "-", "@")""",
        ("tests/common/test_spreadsheets.py",),
    ),
    Defect(
        "API tokens that were chosen survive a new password",
        "frontend/pages/account/password_forms.py",
        "                revoke_token(user=self.user, token_id=int(key))",
        "                pass",
        ("tests/frontend/account/test_signing_in.py",),
    ),
    Defect(
        "controllers read who wrote in a thread",
        "annotation/onboarding/selectors/threads.py",
        "return Capability.READ_STATISTICS in capabilities_of(user, project)",
        "return sees_all_threads(user, project)",
        ("tests/annotation/onboarding/test_threads.py",),
    ),
    Defect(
        "class counts of a blind sample are shown while it is judged",
        "annotation/batch_review/selectors/sample_progress.py",
        "        sample.is_blind and sample.round.state == RoundState.IN_REVIEW,",
        "        False,",
        (
            "tests/frontend/batch_review/test_sample_review.py",
            "tests/annotation/batch_review/test_secrets.py",
        ),
    ),
    Defect(
        "every project pushes with the token of the installation",
        "preference/data/selectors/hub_tokens.py",
        "if not settings.HUB_TOKEN_SHARED and not HubToken.objects.filter(project=project).exists():",
        "if False:",
        ("tests/preference/data/test_hub.py",),
    ),
)
