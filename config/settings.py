"""All settings, read from the environment (twelve-factor). `manage.py doctor` explains what is wrong with them."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from environs import Env

from config import embedded, openapi_settings
from config.checked_values import (
    ABOVE_0,
    AT_LEAST_0,
    AT_LEAST_1,
    LEVEL,
    read_api_rate,
    read_database_url,
    read_login_rate,
    read_public_url,
    read_redis_url,
    read_retention,
    read_time_zone,
    read_webhook_networks,
)
from config.database_connection import connection_settings, pooler
from config.logging import configure_logging
from config.mail_url import parse_mail_url
from config.schedule import beat_schedule
from config.storage_url import parse_storage_url, shared_storage

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env()  # config/__init__.py has read the file .env

# --- where and how it runs -------------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", default=False)
PRODUCTION = env.bool("PRODUCTION", default=False)
VAR = Path(env.str("LAPIDARY_VAR", default=str(BASE_DIR / "var"))).resolve()
PUBLIC_URL = read_public_url(env)
SECRET_KEY = env.str("SECRET_KEY", default="") or embedded.development_secret(VAR)
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS", default=[urlsplit(PUBLIC_URL).hostname or "localhost", "localhost", "127.0.0.1"]
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[PUBLIC_URL])
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

if PRODUCTION:
    problems = [
        text
        for wrong, text in [
            (DEBUG, "DEBUG must be off"),
            (
                len(env.str("SECRET_KEY", default="")) < 50 or len(set(SECRET_KEY)) < 10,
                "SECRET_KEY must be set to at least 50 random characters",
            ),
            (not PUBLIC_URL.startswith("https://"), "PUBLIC_URL must be set and start with https://"),
            (not env.str("DATABASE_URL", default=""), "DATABASE_URL must name your PostgreSQL"),
            (not env.str("REDIS_URL", default=""), "REDIS_URL must name your Redis"),
            ("*" in ALLOWED_HOSTS, "ALLOWED_HOSTS must not contain *"),
        ]
        if wrong
    ]
    if problems:
        raise ImproperlyConfigured("Lapidary will not start with PRODUCTION=1: " + "; ".join(problems) + ".")

# --- database, broker, cache -----------------------------------------------------------------------------------------
# Without DATABASE_URL / REDIS_URL an embedded PostgreSQL / Redis is started under VAR (config/embedded.py).
DATABASE_URL, REDIS_URL = read_database_url(env, VAR), read_redis_url(env, VAR)
DATABASES: dict[str, Any] = {"default": connection_settings(env, DATABASE_URL)}
DATABASE_POOLER = pooler(env)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {
        "BACKEND": "config.cache.Cache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {
            "pool_class": "config.cache.ProcessPool",
            "max_connections": 1000,  # one more would be refused, not wait; redis-py's own limit is 100
            # Seconds. A Redis that hangs holds every request for as long.
            "socket_timeout": 1,
            "socket_connect_timeout": 1,
        },
    }
}

CELERY_BROKER_URL = embedded.broker_url(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"generation.tasks.*": {"queue": "gpu"}}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker waits for a Redis that is away; by default it ends after 100 attempts.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    # A page does not wait for a broker that is away: what was to be sent is found by the reapers.
    "max_retries": 1,
    "interval_start": 0,
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_SEND_SENT_EVENT = False
CELERY_BEAT_SCHEDULE = beat_schedule(env)

# Days that leftovers stay, by kind.
RETENTION = read_retention(env)

# --- applications ----------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "accounts",
    "projects",
    "jobs",
    "dialogues",
    "generation",
    "annotation",
    "assessment",
    "preference",
    "frontend",
    "operations",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "django_prometheus",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "config.logging.RequestIdMiddleware",
    "common.rest.api_version.ApiVersionMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # Above WhiteNoise: where files were not compressed beforehand, they are on the way out.
    "django.middleware.gzip.GZipMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    # Above whatever may read a form.
    "config.middleware.BodyLimitMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "allauth.usersessions.middleware.UserSessionsMiddleware",
    "frontend.middleware.LanguageMiddleware",
    # Below the person and their language, above whatever reads a form.
    "config.middleware.UploadMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "accounts.middleware.OneTimePasswordMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "frontend.middleware.SignedOutMiddleware",
    "frontend.middleware.RefusalMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "frontend" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.debug",
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- people ----------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ["UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator"]
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "accounts.adapters.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "accounts.forms.SignInForm",
    "change_password": "frontend.pages.account.password_forms.PasswordChangeForm",
    "set_password": "frontend.pages.account.password_forms.FirstPasswordForm",
    "reset_password_from_key": "frontend.pages.account.password_forms.PasswordResetForm",
    "reset_password": "accounts.forms.ForgottenPasswordForm",
}
ACCOUNT_SIGNUP_OPEN = env.bool("SIGNUP_OPEN", default=False)
ACCOUNT_RATE_LIMITS = {"login_failed": read_login_rate(env)}
USERSESSIONS_TRACK_ACTIVITY = False
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=PUBLIC_URL.startswith("https://"))
# Each proxy appends an address to X-Forwarded-For; the client's is the one that the outermost of ours appended.
ALLAUTH_TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXIES", default=int(BEHIND_PROXY), validate=AT_LEAST_0)
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Lapidary"
# Managers make the accounts and addresses are not confirmed, so nobody could switch two-factor sign-in on without this.
MFA_ALLOW_UNVERIFIED_EMAIL = True
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "APPS": [
            {
                "provider_id": env.str("OIDC_PROVIDER_ID", default="oidc"),
                "name": env.str("OIDC_NAME", default="Single sign-on"),
                "client_id": env.str("OIDC_CLIENT_ID"),
                "secret": env.str("OIDC_CLIENT_SECRET"),
                "settings": {"server_url": env.str("OIDC_SERVER_URL")},
            }
        ]
        if env.str("OIDC_CLIENT_ID", default="")
        else [],
    }
}

# Of a link that sets a new password, sent by email or made by a manager.
PASSWORD_RESET_TIMEOUT = env.int("PASSWORD_LINK_HOURS", default=72, validate=AT_LEAST_1) * 3600

# --- email -----------------------------------------------------------------------------------------------------------
# Empty: no page offers what needs email. Workers send it, never a request.
EMAIL_URL = env.str("EMAIL_URL", default="")
mail_server = parse_mail_url(EMAIL_URL)
EMAIL_BACKEND = mail_server.backend
EMAIL_HOST, EMAIL_PORT = mail_server.host, mail_server.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = mail_server.user, mail_server.password
EMAIL_USE_SSL, EMAIL_USE_TLS = mail_server.use_ssl, mail_server.use_tls
EMAIL_FILE_PATH = mail_server.file_path
EMAIL_TIMEOUT = 10  # seconds, for each answer of the server
DEFAULT_FROM_EMAIL = (
    env.str("DEFAULT_FROM_EMAIL", default="")
    or f"Lapidary <lapidary@{urlsplit(PUBLIC_URL).hostname or 'localhost'}>"
)
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# --- language, time --------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "frontend" / "locale"]
USE_I18N = True
FORMAT_MODULE_PATH = "frontend.formats"
USE_TZ = True
TIME_ZONE = read_time_zone(env)

# --- files -----------------------------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(VAR / "static")))
# Uploaded and exported files. Not served by the web server directly: pages check permissions and stream them.
FILES_ROOT = Path(env.str("FILES_ROOT", default=str(VAR / "files")))
# Trained models and what their trainings leave. Web servers, workers and the machine that trains share it.
MODELS_ROOT = Path(env.str("MODELS_ROOT", default=str(FILES_ROOT / "models")))
# With an object store these two folders belong to one host, and the store holds what is shared.
STORAGE = parse_storage_url(env.str("STORAGE_URL", default=""))
# After so many days without use, a host deletes its copy of what the store has.
STORAGE_COPY_DAYS = env.int("STORAGE_COPY_DAYS", default=30, validate=AT_LEAST_1)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "files": shared_storage(STORAGE, FILES_ROOT, "files"),
    "models": shared_storage(STORAGE, MODELS_ROOT, "models"),
    "staticfiles": {
        "BACKEND": "frontend.storage.ModuleManifestStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_KEEP_ONLY_HASHED_FILES = PRODUCTION
IMPORT_MAX_BYTES = env.int("IMPORT_MAX_BYTES", default=2 * 1024**3, validate=AT_LEAST_1)
# Of one model that is uploaded in pieces.
MODEL_MAX_BYTES = env.int("MODEL_MAX_BYTES", default=200 * 1024**3, validate=AT_LEAST_1)
# Uploads that one web process takes at a time, and seconds that one may take; seconds for every other body.
UPLOADS_AT_ONCE = env.int("UPLOADS_AT_ONCE", default=8, validate=AT_LEAST_1)
UPLOAD_SECONDS = env.float("UPLOAD_SECONDS", default=3600.0, validate=ABOVE_0)
BODY_SECONDS = env.float("BODY_SECONDS", default=60.0, validate=ABOVE_0)
FILE_UPLOAD_HANDLERS = [
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "dialogues.services.uploads.DiskUploadHandler",
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024**2

# --- security --------------------------------------------------------------------------------------------------------
HTTPS = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = 60 * 60 * 24 * 14
# Not cached in Redis: a session that ends while Redis is away would come back with it.
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SECURE_SSL_REDIRECT = HTTPS and env.bool("SSL_REDIRECT", default=True)
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "frontend.pages.errors.csrf_failure"
oidc_server = urlsplit(env.str("OIDC_SERVER_URL", default=""))
oidc_origin = [f"{oidc_server.scheme}://{oidc_server.netloc}"] if oidc_server.netloc else []
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        # Chrome follows this through redirects: single sign-on leads from our form to the provider.
        "form-action": [SELF, *oidc_origin],
        "frame-ancestors": [NONE],
        "worker-src": [SELF],
    }
}

# --- REST API --------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.rest.authentication.ApiTokenAuthentication",
        "accounts.rest.authentication.PageAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.rest.permissions.ScopedAccess"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.rest.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "common.rest.pagination.CursorPagination",
    "DEFAULT_SCHEMA_CLASS": "config.openapi.ProblemSchema",
    "DEFAULT_THROTTLE_CLASSES": ["accounts.rest.throttling.PersonRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {"user": read_api_rate(env)},
    "EXCEPTION_HANDLER": "common.rest.problems.exception_handler",
    "URL_FORMAT_OVERRIDE": None,  # ?format= is that of an import or export, not of the answer
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = openapi_settings.SPECTACULAR

# --- candidates ------------------------------------------------------------------------------------------------------
# The model of projects that name none: a folder or a hub id. The default is the model shipped in this repository.
SHIPPED_MODEL = str(BASE_DIR / "generation" / "demo_model" / "model")
GENERATION_MODEL = env.str("GENERATION_MODEL", default=SHIPPED_MODEL)
# Of PyTorch; 0 = as many as it likes. A small model gains nothing from a second one, and on a busy machine the two
# wait for each other: 10 times slower was measured.
GENERATION_THREADS = env.int(
    "GENERATION_THREADS", default=1 if GENERATION_MODEL == SHIPPED_MODEL else 0, validate=AT_LEAST_0
)
# How many of the last utterances the model reads; 0 = all that fit. The shipped model has mostly learned replies to
# openings: given a whole dialogue it answers in broken sentences.
GENERATION_UTTERANCES = env.int(
    "GENERATION_UTTERANCES", default=1 if GENERATION_MODEL == SHIPPED_MODEL else 0, validate=AT_LEAST_0
)
# A worker decodes up to this many annotators' requests together.
GENERATION_BATCH = env.int("GENERATION_BATCH", default=16, validate=AT_LEAST_1)
# Seconds for one such batch. A model that takes longer is taken for hung: its requests fail and the worker ends.
GENERATION_TIMEOUT = env.float("GENERATION_TIMEOUT", default=300.0, validate=ABOVE_0)
# So many local models stay in a worker's memory; the least recently used goes when another is needed.
GENERATION_LOADED_MODELS = env.int("GENERATION_LOADED_MODELS", default=2, validate=AT_LEAST_1)
# A worker loads its model when it starts, not with the first request.
GENERATION_WARM_UP = env.bool("GENERATION_WARM_UP", default=True)

# --- pushing to a Hub ------------------------------------------------------------------------------------------------
# Whether projects without a Hub token of their own push with the workers' HF_TOKEN.
HUB_TOKEN_SHARED = env.bool("HUB_TOKEN_SHARED", default=False)

# --- webhooks --------------------------------------------------------------------------------------------------------
# Internal networks whose addresses webhooks may be sent to. Those of the internet always may.
WEBHOOK_NETWORKS = read_webhook_networks(env)

# --- training --------------------------------------------------------------------------------------------------------
# Of PyTorch, in the process that trains; 0 = as many as it likes. Half of the cores leave room for people.
TRAINING_THREADS = env.int(
    "TRAINING_THREADS", default=max(1, (os.cpu_count() or 1) // 2), validate=AT_LEAST_0
)
# Seconds that a training which is to stop has for its last checkpoint; then it is killed.
TRAINING_STOP_SECONDS = env.float("TRAINING_STOP_SECONDS", default=120.0, validate=AT_LEAST_0)
# Folders and hub ids that engineers may start from, besides the project's own model and trained ones.
TRAINING_BASE_MODELS: list[str] = env.list("TRAINING_BASE_MODELS", default=[])

configure_logging(
    debug=DEBUG,
    json_lines=env.bool("LOG_JSON", default=PRODUCTION),
    level=env.str("LOG_LEVEL", default="INFO", validate=LEVEL),
)
LOGGING_CONFIG = None
