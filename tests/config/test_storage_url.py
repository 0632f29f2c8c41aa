"""STORAGE_URL: what it means, and errors that never show a key."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.storage_url import parse_storage_url, shared_storage


def test_without_it_files_are_on_a_disk() -> None:
    assert parse_storage_url("") is None
    assert shared_storage(None, Path("/files"), "files")["BACKEND"].endswith("SharedDisk")


def test_every_part_of_it_is_understood() -> None:
    url = parse_storage_url(
        "s3://key:a%2Fb@bucket/team/?endpoint=http://127.0.0.1:9000&region=eu&downloads=signed"
    )
    assert url is not None
    assert (url.bucket, url.location, url.key, url.secret) == ("bucket", "team", "key", "a/b")
    assert (url.endpoint, url.region, url.signed_downloads) == ("http://127.0.0.1:9000", "eu", True)
    assert shared_storage(url, Path("/models"), "models")["OPTIONS"]["location"] == "team/models"


def test_keys_may_come_from_elsewhere() -> None:
    url = parse_storage_url("s3://bucket")
    assert url is not None
    options = shared_storage(url, Path("/files"), "files")["OPTIONS"]
    assert (options["access_key"], options["secret_key"], options["endpoint_url"]) == (None, None, None)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://bucket", "Write it as s3://"),
        ("s3://", "Write it as s3://"),
        ("s3://key@bucket", "Name both keys or neither"),
        ("s3://bucket?endpoint=minio:9000", "Write it as s3://"),
        ("s3://bucket?downloads=fast", "“streamed” or “signed”"),
        ("s3://bucket?retries=3", "It has no option retries"),
        ("s3://key:begin/S3CRET@bucket", "Write / in a key as %2F"),
        ("s3://bucket?endpoint=https://key:S3CRET@minio:9000", "before the bucket"),
    ],
)
def test_errors_name_the_cause_and_never_the_key(url: str, why: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="STORAGE_URL") as error:
        parse_storage_url(url)
    assert why in str(error.value)
    assert "S3CRET" not in str(error.value)
