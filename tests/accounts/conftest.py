import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def no_earlier_attempts() -> None:
    """Failed sign-ins are counted in Redis."""
    cache.clear()
