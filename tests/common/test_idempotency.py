"""An id that a client made stands for one request."""

import pytest

from common.idempotency import check_repeat
from common.refusals import Refusal


def test_the_same_request_may_be_sent_again() -> None:
    check_repeat({"count": 3, "group": ""}, count=3, group="")


@pytest.mark.parametrize("sent", [{"count": 4}, {"count": 3, "group": "north"}])
def test_another_request_with_the_same_id_is_refused(sent: dict[str, object]) -> None:
    with pytest.raises(Refusal) as refused:
        check_repeat({"count": 3, "group": ""}, **sent)
    assert (refused.value.code, refused.value.status) == ("id_in_use", 409)
