"""What people do with their own account."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.errors import Invalid
from accounts.models import ApiToken, Scope, User

TOKEN_PREFIX = "lap_"  # noqa: S105 - what a token begins with
USED_EVERY = timedelta(minutes=1)


def digest_of(plain: str) -> str:
    """Tokens are 256 random bits, so a plain SHA-256 is enough; nobody can guess towards it."""
    return hashlib.sha256(plain.encode()).hexdigest()


@transaction.atomic
def create_token(
    *, user: User, name: str, scopes: Sequence[str], days: int | None = None
) -> tuple[ApiToken, str]:
    """Make a token and return it with its plain value, which is not stored and cannot be shown again."""
    unknown = set(scopes) - set(Scope.values)
    if not scopes or unknown:
        raise Invalid(
            _("A token needs at least one scope of: %(scopes)s.") % {"scopes": ", ".join(Scope.values)},
            field="scopes",
        )
    if days is not None and days < 1:
        raise Invalid(_("A token must live for at least one day."), field="days")
    plain = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires = timezone.now() + timedelta(days=days) if days else None
    token = ApiToken.objects.create(
        user=user,
        name=name[:80],
        digest=digest_of(plain),
        prefix=plain[:12],
        scopes=sorted(set(scopes)),
        expires_at=expires,
    )
    return token, plain


def revoke_token(*, user: User, token_id: int) -> None:
    """Revoke one of the user's tokens. Safe to repeat."""
    ApiToken.objects.filter(user=user, pk=token_id, revoked_at=None).update(revoked_at=timezone.now())


def use_token(*, plain: str) -> ApiToken | None:
    """The live token with this value, its use noted at most once a minute; None when there is none."""
    token = ApiToken.objects.select_related("user").filter(digest=digest_of(plain)).first()
    if token is None or not token.is_live or not token.user.is_active:
        return None
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > USED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def set_preferences(*, user: User, **changes: object) -> User:
    """Change the person's own language, theme, display name or Enter key."""
    for name, value in changes.items():
        setattr(user, name, value)
    user.full_clean(exclude=["password"])
    user.save(update_fields=list(changes))
    return user
