"""The card of a trained model: a README.md with the front matter that a Hub reads, made from its lineage."""

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from textwrap import indent
from typing import Any

from jobs.models import JobState
from preference.data.formats.card_text import (
    WRITTEN_IN,
    count_table,
    describe_licences,
    escape_markdown,
    markdown_table,
)
from preference.evaluation.models import Evaluation
from preference.registry.models import ModelKind, RegisteredModel
from preference.registry.selectors.trained_models import lineage_of

MOST_EVALUATIONS = 10
TEMPLATE = "chat_template.jinja"
MEASURES = {"p_at_1": "P@1", "mrr": "MRR", "map": "MAP"}
RANKED_BY = {"preference": "preference score", "generation": "generation probability"}
CONTROLS = {
    "lexical": "n-grams of the reply, which read no context",
    "other_context": "the model with contexts of other dialogues",
}
UNKNOWN_LICENCE = (
    "Unknown. Nobody stated under which licence the model may be passed on. The licence of its base holds for it as"
    " well, and so does that of the dialogues."
)
TEMPLATED = f"""The folder keeps the chat template of its base (`{TEMPLATE}`), through which it was trained. Whoever
replies is the assistant, all others are the user; utterances of one of them in a row are joined by line breaks. Servers
render the same from `messages`.
"""
PLAIN = """A dialogue is rendered plainly, oldest utterance first, with the tokenizer's `bos_token` (if it has one)
before it and its `eos_token` after every utterance; the reply follows. A `chat_template.jinja` in the folder renders
`messages` like this, whatever their roles:

```
<bos>Hello.<eos>Hi, how are you?<eos>
```
"""
MARKED = """Every utterance begins with who says it, `A:` for who spoke first, and the context ends with the mark of
who replies; the tokenizer's `eos_token` stands after every utterance:

```
<bos>A: Hello.<eos>B: Hi, how are you?<eos>A:
```
"""
# Of prompt and reply as training wrote them; what came from elsewhere may be longer.
LONGEST_EXAMPLE = 2000
SERVING = """The folder is an ordinary Hugging Face folder. The preference head (`preference_head.safetensors`) lies
beside the weights: Lapidary scores replies with it, other servers leave it alone.

```
vllm serve FOLDER    # or any other OpenAI-compatible server: {endpoint}
python manage.py promote_model PROJECT {slug}
```
"""
Row = tuple[str, str]


def card_of(model: RegisteredModel) -> str:
    """The card in Markdown, in English."""
    sections = {
        "Where it comes from": _origin(model),
        "Data": _data(model),
        "Recipe": _table(("Setting", "Value"), _recipe(model)) or "Not recorded.",
        "Results": _results(model),
        **(_use(model) if model.writes_replies else {}),
        "Licence": UNKNOWN_LICENCE,
        "Files": _files(model),
    }
    title = f"# {model.slug}"
    about = f"{_kind(model)} of the project “{escape_markdown(model.project.title)}”."
    note = [escape_markdown(model.note)] if model.note else []
    written = [part for name, text in sections.items() for part in (f"## {name}", text.strip())]
    return "\n\n".join([_front_matter(model), title, about, *note, *written]) + "\n"


def _kind(model: RegisteredModel) -> str:
    return {
        ModelKind.JOINT: "A model that writes replies, trained on what people wrote and on what they preferred,",
        ModelKind.PAIREVAL: "PairEval, which compares replies,",
        ModelKind.ASSESSOR: "An assessor of dialogues",
        ModelKind.TOPICS: "A topic model of dialogues",
    }[ModelKind(model.kind)]


def _front_matter(model: RegisteredModel) -> str:
    """The values are JSON, which is YAML too."""
    card = model.snapshot.card if model.snapshot else {}
    languages = sorted(name for name in card.get("languages", {}) if len(name) == 2 and name.isalpha())
    base = base_name(model.base)
    fields = {
        "license": "unknown",
        **({"language": languages} if languages else {}),
        **({"base_model": base} if base == model.base and base else {}),
        "library_name": "transformers",
        **({"pipeline_tag": "text-generation"} if model.writes_replies else {}),
        "tags": ["dialogue", "preference"],
    }
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---"])


def base_name(source: str) -> str:
    """A Hub id unchanged, of a folder its last two names: where it lies on the server is nobody's business."""
    is_id = not source.startswith(("/", ".", "~")) and source.count("/") < 2
    return source if is_id else "/".join(PurePath(source).parts[-2:]).strip("/")


def _origin(model: RegisteredModel) -> str:
    lineage, config = lineage_of(model), model.config
    run = model.training_run
    versions = config.get("versions", {})
    loss = model.metrics.get("loss")
    rows: list[Row] = [
        ("Base model", base_name(lineage[-1].base) or "none: new weights"),
        *[("Trained from", one.slug) for one in lineage[1:]],
        ("Trained", f"here, as training {run.number}" if run else "elsewhere, and registered here"),
        ("Steps", str(config.get("steps", ""))),
        ("Loss of the last step", f"{loss:.3f}" if isinstance(loss, int | float) else ""),
        (
            "Processes and device",
            f"{config.get('processes', 1)} × {config['device']}" if "device" in config else "",
        ),
        ("Code", model.code_version),
        ("Packages", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Version in the log", model.version),
        ("Registered", f"{model.created_at:%Y-%m-%d}"),
    ]
    return _table(("", ""), rows)


def _data(model: RegisteredModel) -> str:
    about, snapshot = model.config.get("data", {}), model.snapshot
    deleted = model.deleted_dialogues
    rows: list[Row] = [
        ("Snapshot", snapshot.name if snapshot else "none of this project"),
        ("SHA-256", snapshot.sha256 if snapshot else str(about.get("sha256", ""))),
        (
            "Dialogues learned from",
            f"{about['dialogues']:,}" if isinstance(about.get("dialogues"), int) else "",
        ),
        ("Dialogues deleted after the training", str(deleted) if deleted else ""),
    ]
    parts = [_table(("", ""), rows)]
    card = snapshot.card if snapshot else {}
    if card.get("languages"):
        parts.append(count_table("Language", "Dialogues", card["languages"]))
    if scripted := card.get("gaps", {}).get("scripted"):
        parts.append(
            f"{scripted:,} dialogues are marked as scripted: a program wrote and chose in them, no person."
        )
    if card.get("licences"):
        parts.append(describe_licences(card["licences"]))
    return "\n\n".join([*parts, WRITTEN_IN])


def _recipe(model: RegisteredModel) -> list[Row]:
    recipe, run = model.config.get("recipe", {}), model.training_run
    named = [("recipe", run.recipe)] if run else []
    return [*named, *((name, _setting(value)) for name, value in recipe.items())]


def _setting(value: Any) -> str:
    return "not set" if value is None else value if isinstance(value, str) else json.dumps(value)


def _results(model: RegisteredModel) -> str:
    rows = (
        model.evaluations.filter(job__state=JobState.DONE)
        .select_related("snapshot")
        .order_by("-created_at", "-id")
    )
    newest: dict[tuple[Any, str], Evaluation] = {}
    for row in rows[: 4 * MOST_EVALUATIONS]:
        newest.setdefault((row.snapshot_id, row.split), row)
    parts = [
        _result(f"{escape_markdown(row.snapshot.name)}, split {row.split}", row.report)
        for row in list(newest.values())[:MOST_EVALUATIONS]
    ]
    if brought := model.report.get("evaluation"):
        data, split = brought["data"]["sha256"][:12], escape_markdown(brought["split"])
        parts.append(_result(f"Measured elsewhere, on data {data}, split {split}", brought))
    if model.report.get("models"):
        parts.append("The report on its page compares it with other models.")
    return "\n\n".join(parts) or "It was not measured."


def _result(heading: str, report: Mapping[str, Any]) -> str:
    """How often the human reply ranks first, with controls. report: of preference.training.joint.evaluation."""
    figures, controls = report.get("overall", {}), report.get("controls", {})
    ranked = [
        (f"{short}, by {by}", figures.get(name, {}).get(key))
        for name, by in RANKED_BY.items()
        for key, short in MEASURES.items()
    ]
    controlled = [(f"P@1, by {by}", controls.get(name, {}).get("p_at_1")) for name, by in CONTROLS.items()]
    chance = ("P@1, at random", figures.get("baselines", {}).get("chance"))
    lines = [*ranked, *controlled, chance, ("NLL, nats per token", figures.get("nll"))]
    rows = [[name, *_cells(figure)] for name, figure in lines if figure and figure.get("value") is not None]
    table = markdown_table(("", "Value", "95 % interval", "n"), rows)
    return f"**{heading}**, {report.get('n_turns') or 0:,} turns\n\n{table}"


def _cells(figure: Mapping[str, Any]) -> list[str]:
    low, high = figure.get("low"), figure.get("high")
    interval = "–" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return [f"{figure['value']:.3f}", interval, f"{figure.get('n') or 0:,}"]


def _use(model: RegisteredModel) -> dict[str, str]:
    recipe = model.config.get("recipe", {})
    prompt = TEMPLATED if recipe.get("chat_template") else MARKED if recipe.get("speaker_marks") else PLAIN
    endpoint = "/v1/chat/completions" if TEMPLATE in model.files else "/v1/completions"
    return {
        "Prompt format": f"{prompt}{_prompt_example(model)}",
        "How to serve it": SERVING.format(slug=model.slug, endpoint=endpoint),
    }


def _prompt_example(model: RegisteredModel) -> str:
    """What its tokenizer makes of a dialogue; empty for models whose training.json does not say."""
    example = model.config.get("prompt_format")
    found = [example.get(name) for name in ("prompt", "reply")] if isinstance(example, dict) else []
    texts = [text for text in found if isinstance(text, str) and len(text) <= LONGEST_EXAMPLE]
    if len(texts) != 2:
        return ""
    # Indented, because a fence would end at one in the text.
    prompt, reply = (indent(text, "    ", lambda line: True) for text in texts)
    about = "With its own tokens, the prompt for the fourth utterance of a dialogue:"
    return f"\n{about}\n\n{prompt}\n\nThe reply:\n\n{reply}\n"


def _files(model: RegisteredModel) -> str:
    if not model.folder:
        return "They were removed."
    rows = [(name, f"{size:,}") for name, size in sorted(model.files.items())]
    return f"{_table(('File', 'Bytes'), rows)}\n\nSHA-256 over names, sizes and contents: `{model.sha256}`"


def _table(head: Row, rows: Iterable[Row]) -> str:
    """Without rows that have no value; empty without rows."""
    filled = [row for row in rows if row[1]]
    return markdown_table(head, filled) if filled else ""
