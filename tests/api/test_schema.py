"""The OpenAPI document is exact: it names every address, its scope, its problems, and warns of nothing."""

import io
import re
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    schema: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return schema


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]


def addresses(resolver: URLResolver, before: str = "") -> list[str]:
    collected = []
    for pattern in resolver.url_patterns:
        path = before + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        collected += addresses(pattern, path) if isinstance(pattern, URLResolver) else [path]
        assert isinstance(pattern, URLPattern | URLResolver)
    return collected


def test_it_is_valid_and_warns_of_nothing() -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=io.StringIO())


def test_it_is_served_to_everybody(client: Client) -> None:
    response = client.get("/api/schema/")
    assert response.status_code == 200
    assert yaml.safe_load(response.content)["info"]["title"] == "Lapidary"


def test_it_names_every_address(document: dict[str, Any]) -> None:
    rooted = [f"/{path}" for path in addresses(get_resolver()) if path.startswith("api/v1/")]
    documented = {re.sub(r"{\w+}", "{}", path) for path in document["paths"]}
    assert {re.sub(r"{\w+}", "{}", path) for path in rooted} == documented


def test_every_operation_names_its_scope_its_tag_and_both_ways_to_authenticate(
    document: dict[str, Any],
) -> None:
    for path, method, operation in operations(document):
        assert "Token scope: `" in operation["description"], (method, path)
        assert operation["tags"] not in ([], ["v1"], ["api"]), (method, path)
        assert {name for way in operation["security"] for name in way} == {"token", "cookieAuth"}


def test_every_operation_has_a_sentence_for_people(document: dict[str, Any]) -> None:
    bare = [
        (method, path) for path, method, operation in operations(document) if not operation.get("summary")
    ]
    assert bare == []


def test_every_problem_has_the_same_shape(document: dict[str, Any]) -> None:
    responses = document["components"]["responses"]
    for _path, _method, operation in operations(document):
        for status, answer in operation["responses"].items():
            if status >= "400":
                response = responses[answer["$ref"].rsplit("/", 1)[1]] if "$ref" in answer else answer
                shape = response["content"]["application/problem+json"]["schema"]
                assert shape == {"$ref": "#/components/schemas/Problem"}
    assert document["components"]["schemas"]["Problem"]["required"] == [
        *("code", "detail", "status", "title", "type"),
    ]


def test_every_list_comes_in_pages(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        answer = operation["responses"].get("200", {})
        shape = answer.get("content", {}).get("application/json", {}).get("schema", {})
        assert shape.get("type") != "array", (method, path)
        if "/Paginated" in shape.get("$ref", ""):
            names = {parameter["name"] for parameter in operation["parameters"]}
            assert {"cursor", "page_size"} <= names, (method, path)


def test_the_documentation_page_needs_no_inline_script_or_style(client: Client) -> None:
    html = client.get("/api/docs/").content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    script = re.search(r'src="(/api/docs/[^"]*script[^"]*)"', html)
    assert script is not None
    response = client.get(script[1])
    assert response.headers["Content-Type"] == "application/javascript"
    assert b"SwaggerUIBundle" in response.content
