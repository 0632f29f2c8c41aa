"""What requests carry is checked by one serializer for all of them, which keeps nothing of any."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from rest_framework import serializers
from rest_framework.request import Request

from accounts.rest.shapes import Strict, checked


class Wish(Strict):
    name = serializers.CharField(max_length=5)
    counts = serializers.ListField(child=serializers.IntegerField(), required=False)


class Sent:
    def __init__(self, data: Any) -> None:
        self.data = data


def wish(data: Any) -> dict[str, Any]:
    return checked(Wish, cast(Request, Sent(data)))


@pytest.mark.parametrize(
    "sent, wrong",
    [
        ({}, {"name"}),
        ({"name": "ann", "nmae": 1}, {"nmae"}),
        ({"name": "annabella", "more": 1}, {"name", "more"}),
        ({"name": "ann", "counts": [1, "x"]}, {"counts"}),
        ([], {"non_field_errors"}),
        (None, {"non_field_errors"}),
    ],
)
def test_every_field_that_is_wrong_is_named_and_the_next_request_is_another(
    sent: Any, wrong: set[str]
) -> None:
    with pytest.raises(serializers.ValidationError) as refused:
        wish(sent)
    detail = refused.value.detail
    assert (set(detail) if isinstance(detail, dict) else {"non_field_errors"}) == wrong
    assert wish({"name": "ann"}) == {"name": "ann"}


def test_requests_at_one_time_do_not_see_each_other() -> None:
    def one(n: int) -> bool:
        if n % 3:
            return wish({"name": f"n{n}", "counts": [n] * n}) == {"name": f"n{n}", "counts": [n] * n}
        with pytest.raises(serializers.ValidationError) as refused:
            wish({"name": "a", f"x{n}": n})
        return refused.value.detail == {f"x{n}": ["Unknown field."]}

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(one, range(200)))
