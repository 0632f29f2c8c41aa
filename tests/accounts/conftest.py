from typing import Any

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def quick_passwords(settings: Any) -> None:
    """A million rounds for every password would be most of what these tests do."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def no_earlier_attempts() -> None:
    """Failed sign-ins are counted in Redis."""
    cache.clear()
