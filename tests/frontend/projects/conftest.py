import pytest
from django.test import Client

from accounts.models import User


@pytest.fixture
def maras_browser(client: Client, mara: User) -> Client:
    client.force_login(mara)
    return client
