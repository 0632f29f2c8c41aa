"""Accounts, passwords, preferences and API tokens."""

import hashlib
import secrets
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import ApiToken, Scope, User
from accounts.selectors import live_tokens
from common.idempotency import check_repeat
from common.languages import LANGUAGE_NAMES
from common.refusals import Invalid, NotAllowed, NotFound, Refusal
from common.sentences import join_sentences

TOKEN_PREFIX = "lap_"  # noqa: S105 - not a password
RECORD_USE_EVERY = timedelta(minutes=1)
DEFAULT_TOKEN_DAYS = 90
MAX_TOKEN_DAYS = 3650
MAX_LIVE_TOKENS = 100
ONE_TIME_PASSWORD_DAYS = 14
# Without letters and digits that are easily confused when they are read aloud or copied by hand.
UNAMBIGUOUS_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"
PREFERENCES = ("display_name", "language", "theme", "submit_on_enter", "reading_languages")


def token_digest(plain: str) -> str:
    """SHA-256 of the token. A token is 256 random bits, so it needs neither salt nor a slow hash."""
    return hashlib.sha256(plain.encode()).hexdigest()


@transaction.atomic
def create_token(
    *,
    user: User,
    name: str,
    scopes: Sequence[str],
    days: int | None = DEFAULT_TOKEN_DAYS,
    request_id: UUID | None = None,
    by: ApiToken | None = None,
) -> tuple[ApiToken, str]:
    """Create a token. Returns it with its plain value, which is not stored and cannot be shown again.

    days: None for a token that never expires.
    request_id: the same request again returns the first token with a new value, as long as it was never used.
    by: the token that makes the request; the new one cannot have more scopes or live longer.
    Raises Invalid, NotAllowed, Refusal "too_many_tokens", "token_in_use", "id_in_use".
    """
    User.objects.select_for_update(no_key=True).only("pk").get(pk=user.pk)
    plain = TOKEN_PREFIX + secrets.token_urlsafe(32)
    if request_id and (first := ApiToken.objects.filter(user=user, request_id=request_id).first()):
        check_repeat(first, name=name.strip()[:80], scopes=sorted(set(scopes)), days=days)
        _check_within(by, first.scopes, first.expires_at)
        return _replace_value(first, plain), plain
    expires = _expiry(days)
    _check_token(user, name, scopes)
    _check_within(by, scopes, expires)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip()[:80],
        digest=token_digest(plain),
        prefix=plain[:12],
        scopes=sorted(set(scopes)),
        expires_at=expires,
        request_id=request_id,
    )
    return token, plain


def _expiry(days: int | None) -> datetime | None:
    if days is None:
        return None
    if not 1 <= days <= MAX_TOKEN_DAYS:
        raise Invalid(
            _("A token must live for at least one day."),
            _("Choose between 1 and %(most)d days.") % {"most": MAX_TOKEN_DAYS},
            field="days",
        )
    return timezone.now() + timedelta(days=days)


def _check_token(user: User, name: str, scopes: Sequence[str]) -> None:
    if not name.strip():
        raise Invalid(_("A token needs a name."), _("Say what it is for."), field="name")
    if not scopes or set(scopes) - set(Scope.values):
        raise Invalid(
            _("A token needs at least one scope of: %(scopes)s.") % {"scopes": ", ".join(Scope.values)},
            field="scopes",
        )
    if live_tokens(user).count() >= MAX_LIVE_TOKENS:
        raise Refusal(
            "too_many_tokens",
            _("You have %(n)d valid tokens already.") % {"n": MAX_LIVE_TOKENS},
            _("Revoke one that is not needed any more."),
        )


def _check_within(by: ApiToken | None, scopes: Sequence[str], expires: datetime | None) -> None:
    if by is None:
        return
    if set(scopes) - set(by.scopes) or (by.expires_at and (expires is None or expires > by.expires_at)):
        raise NotAllowed(
            _("A token cannot create one that may do more or lives longer than itself."),
            _("Sign in with a browser to create it."),
        )


def _replace_value(token: ApiToken, plain: str) -> ApiToken:
    # The first reply may have been lost, so nobody has the value: a new one replaces it.
    if token.last_used_at or not token.is_live:
        raise Refusal(
            "token_in_use",
            _("This token was created before, and used or revoked since; its value cannot be shown again."),
            _("Create another one under a new id."),
            details={"token": token.pk},
        )
    token.digest, token.prefix = token_digest(plain), plain[:12]
    token.save(update_fields=["digest", "prefix"])
    return token


def revoke_token(*, user: User, token_id: int) -> None:
    """Revoke one of the user's tokens. Safe to repeat."""
    ApiToken.objects.filter(user=user, pk=token_id, revoked_at=None).update(revoked_at=timezone.now())


def use_token(*, plain: str) -> ApiToken | None:
    """The live token with this value, or None. Records its use at most once a minute."""
    token = ApiToken.objects.select_related("user").filter(digest=token_digest(plain)).first()
    if token is None or not token.is_live or not token.user.is_active:
        return None
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > RECORD_USE_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def set_preferences(*, user: User, **changes: Any) -> User:
    """Change the person's language, theme, display name, Enter key or the languages they read. Raises Invalid."""
    if unknown := set(changes) - set(PREFERENCES):
        raise TypeError(f"not a preference: {', '.join(sorted(unknown))}")
    if "reading_languages" in changes:
        changes["reading_languages"] = ordered_languages(changes["reading_languages"])
    for name, value in changes.items():
        setattr(user, name, value)
    _validate(user)
    user.save(update_fields=list(changes))
    return user


def ordered_languages(codes: Collection[str]) -> list[str]:
    """These languages once each, in the order of the list of languages; unknown ones last, for validation to refuse."""
    known = [code for code in LANGUAGE_NAMES if code in codes]
    return [*known, *sorted(set(codes) - set(known))]


@transaction.atomic
def create_user(
    *,
    username: str,
    email: str = "",
    display_name: str = "",
    language: str = "",
    password: str | None = None,
    is_superuser: bool = False,
) -> tuple[User, str]:
    """Create an account. Returns it with its password.

    Without a password it gets a one-time password, which only opens the password change, for ONE_TIME_PASSWORD_DAYS.
    Raises Invalid, Refusal "username_taken", "email_taken".
    """
    user = User(
        username=username.strip(),
        email=email.strip(),
        display_name=display_name.strip(),
        language=language,
        is_superuser=is_superuser,
        is_staff=is_superuser,
    )
    if problems := account_problems(user, password):
        raise problems[0]
    plain = _set_password(user, password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:  # another account took the name after the check
        raise _username_taken(user.username) from error
    return user, plain


def account_problems(user: User, password: str | None) -> list[Refusal]:
    """What is wrong with a new account: at most one problem each of its names, its password and its other values."""
    checks: list[Callable[[], None]] = [
        lambda: _check_unique(user),
        lambda: _check_password(user, password),
        lambda: _validate(user),
    ]
    found = []
    for check in checks:
        try:
            check()
        except Refusal as refusal:
            found.append(refusal)
    return found


@transaction.atomic
def make_superuser(*, username: str) -> User | None:
    """Let the account with this name manage every project. None if there is no such account. Safe to repeat."""
    user = User.objects.select_for_update(no_key=True).filter(username__iexact=username.strip()).first()
    if user is None:
        return None
    if not user.is_active or user.imported:
        raise Refusal(
            "account_inactive",
            _("%(name)s cannot sign in, so they cannot manage anything.") % {"name": user.shown_name},
            _("Create another account, or activate this one in the administration pages first."),
        )
    user.is_superuser = user.is_staff = True
    user.save(update_fields=["is_superuser", "is_staff"])
    return user


@transaction.atomic
def renew_one_time_password(*, user: User) -> str:
    """A new one-time password for somebody who has not signed in yet. Raises Refusal "password_is_own"."""
    fresh = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if fresh.temporary_password_until is None or not fresh.is_active or fresh.imported:
        raise Refusal(
            "password_is_own",
            _("%(name)s has chosen a password already.") % {"name": fresh.shown_name},
            _("Create a link with which they set a new one."),
        )
    plain = _set_password(fresh, None)
    fresh.save(update_fields=["password", "temporary_password_until"])
    return plain


def _set_password(user: User, password: str | None) -> str:
    """Set it, unchecked, or a one-time password, which is returned."""
    plain = password or one_time_password()
    valid_until = timezone.now() + timedelta(days=ONE_TIME_PASSWORD_DAYS)
    user.temporary_password_until = valid_until if password is None else None
    user.set_password(plain)
    return plain


def _check_password(user: User, password: str | None) -> None:
    """None: the account gets a one-time password."""
    try:
        if password is not None:
            validate_password(password, user)
    except ValidationError as error:
        raise Invalid(join_sentences(error.messages), field="password") from error


def set_own_password(*, user: User, password: str) -> None:
    """Store a password that the person has chosen. Their other sessions end. Raises Invalid."""
    _check_password(user, password)
    _set_password(user, password)
    user.save(update_fields=["password", "temporary_password_until"])


def one_time_password() -> str:
    """Four groups of four characters, 79 bits, such as "kq7m-x2pd-9trw-hn4c"."""
    return "-".join("".join(secrets.choice(UNAMBIGUOUS_CHARACTERS) for _n in range(4)) for _m in range(4))


def _check_unique(user: User) -> None:
    if User.objects.filter(username__iexact=user.username).exists():
        raise _username_taken(user.username)
    if user.email and User.objects.filter(email__iexact=user.email).exists():
        raise Refusal(
            "email_taken",
            _("Somebody with the email address %(email)s has an account already.") % {"email": user.email},
            _("Add that person instead of creating a second account."),
            details={"field": "email"},
        )


def _username_taken(username: str) -> Refusal:
    return Refusal(
        "username_taken",
        _("There is already somebody with the sign-in name “%(name)s”.") % {"name": username},
        _("Choose another name, or add that person."),
        details={"field": "username"},
    )


def _validate(user: User) -> None:
    try:
        user.full_clean(exclude=["password"], validate_unique=False)
    except ValidationError as error:
        field, errors = next(iter(error.error_dict.items()))
        texts = error.message_dict[field]
        if field == "username" and any(one.code == "invalid" for one in errors):
            # Django's Chinese text leaves out the +.
            texts = [_("Enter a valid sign-in name: only letters, digits and @ . + - _")]
        raise Invalid(join_sentences(texts), field=field) from error


def find_person(who: str) -> User:
    """The active person with this sign-in name or email address, in any case.

    Raises NotFound, Refusal "ambiguous_person".
    """
    name = who.strip()
    exact = User.objects.filter(username=name, is_active=True, imported=False).first()
    if exact:
        return exact
    found = User.objects.filter(
        Q(username__iexact=name) | Q(email__iexact=name), is_active=True, imported=False
    ).exclude(username="")[:2]
    if not name or not found:
        raise NotFound(
            _("There is nobody with the sign-in name or email address “%(who)s”.") % {"who": name},
            _("Check the spelling, or create an account for them."),
        )
    if len(found) > 1:
        raise Refusal(
            "ambiguous_person",
            _("Several people go by “%(who)s”.") % {"who": name},
            _("Use the exact sign-in name."),
        )
    return found[0]
