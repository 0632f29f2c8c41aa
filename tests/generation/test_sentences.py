"""Causes and remedies in the reader's language, though workers store them in English."""

import ast
import re
from pathlib import Path

import pytest
from django.utils import translation

import generation.backends
from generation.models import CandidateRequest, RequestState
from generation.protocol import end_sentence
from generation.selectors import describe_request, translate_sentences
from generation.sentences import OF_FILES, PATTERNS, SENTENCES
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_request


@pytest.fixture(scope="module")
def said_by_backends() -> str:
    """Every string constant of the backends; parts of f-strings too."""
    folder = Path(generation.backends.__file__).parent
    trees = [ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return "\n".join(
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_listed_sentence_is_said_by_a_backend(said_by_backends: str, sentence: str) -> None:
    assert sentence in said_by_backends


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_words_of_a_pattern_are_said_by_a_backend(said_by_backends: str, pattern: str) -> None:
    for words in re.split(r"%\(\w+\)s", pattern):
        assert words.strip(" .") in said_by_backends


@pytest.mark.parametrize("pattern", OF_FILES)
def test_the_words_about_files_are_said_where_files_are_fetched(pattern: str) -> None:
    places = [Path("common/storage/object_store.py"), *Path("preference/registry").glob("*.py")]
    assert any(pattern in place.read_text() for place in places)


def test_what_differs_in_a_sentence_stays_as_it_is() -> None:
    address = "http://127.0.0.1:9/v1"
    cause = f"The model server at {address} cannot be reached, or closed the connection: refused."
    with translation.override("zh-hans"):
        shown = translate_sentences(f"{cause} Start it, or correct its address.")
    assert shown == f"无法连接位于 {address} 的模型服务器，或连接被其关闭: refused. 请启动它，或更正其地址。"


def test_a_chinese_reader_gets_chinese(project: Project) -> None:
    request = create_request(create_dialogue(project, "你好"))
    CandidateRequest.objects.filter(pk=request.pk).update(
        state=RequestState.FAILED,
        error="The model gave no reply. The model wrote an empty reply.",
        remedy="Try again.",
        failures=["Something that nobody translated."],
    )
    request.refresh_from_db()
    with translation.override("zh-hans"):
        told = describe_request(request)
    assert told["error"].isascii() is False
    assert told["remedy"] == "请重试。"
    assert told["failures"] == ["Something that nobody translated."]


@pytest.mark.parametrize(
    ("error", "end"),
    [(OSError(), "."), (OSError("refused"), ": refused."), (OSError("It is away."), ": It is away.")],
)
def test_a_sentence_about_an_error_ends_with_its_message_and_a_full_stop(error: OSError, end: str) -> None:
    assert end_sentence(error) == end
