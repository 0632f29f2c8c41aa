"""Rows as Parquet: one schema per format, row groups of fixed size, the same bytes for the same rows.

A value without one type (free metadata, answers to questions of any kind) is JSON text in its column.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

import pyarrow as pa
from pyarrow import parquet

from preference.data.formats.catalogue import Row
from preference.data.formats.writing import HashingWriter

ROWS_AT_ONCE = 1000  # per row group; a few megabytes if contexts are long

TEXT, WHOLE, NUMBER, TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()
# Keyed by type id: looking up a nested type takes longer than writing its row.
PYTHON: Mapping[int, type | tuple[type, ...]] = {
    TEXT.id: str,
    WHOLE.id: int,
    NUMBER.id: (int, float),
    TRUTH.id: bool,
}
AS_JSON = pa.field("", TEXT, metadata={"json": "1"})
REST = "other"  # everything in a row that has no column
MESSAGES = pa.list_(pa.struct([("role", TEXT), ("content", TEXT)]))


def _json(name: str) -> pa.Field:
    return AS_JSON.with_name(name)


def _sampling(prefix: str) -> list[tuple[str, pa.DataType]]:
    """The columns of SAMPLED in `replies`."""
    types = {"seed": WHOLE, "tokens": WHOLE, "logprob": NUMBER, "score": NUMBER, "warmth": NUMBER}
    return [(prefix + name, type) for name, type in types.items()]


IDENTITY = [("dialogue_id", TEXT), ("turn", WHOLE), ("language", TEXT)]
REJECTED = [
    ("rejected_origin", TEXT),
    *IDENTITY,
    ("model_version", TEXT),
    ("rejected_position", WHOLE),
    *_sampling("rejected_"),
]
UTTERANCE = pa.struct(
    [
        pa.field("utterance", TEXT),
        pa.field("response_candidates", pa.list_(TEXT)),
        pa.field("speaker", TEXT),
        pa.field("time", TEXT),
        pa.field("action", TEXT),
        pa.field("source", WHOLE),
        pa.field("edit_distance", WHOLE),
        pa.field("action_derived", TRUTH),
        pa.field("model_version", TEXT),
        pa.field("candidate_versions", pa.list_(TEXT)),
        pa.field("candidate_sampling", pa.list_(pa.struct([*_sampling("")]))),
        _json(REST),
    ]
)
JUDGED = [
    *(
        (name, TEXT)
        for name in ("dialogue", "annotator", "question", "state", "status", "review", "stage", "at")
    ),
    *((name, WHOLE) for name in ("position", "source", "edit_distance", "round", "batch", "revision")),
    ("active_seconds", NUMBER),
    ("idle_seconds", NUMBER),
    ("reason", TEXT),
]
SCHEMAS: Mapping[str, pa.Schema] = {
    "diamante": pa.schema(
        [
            *((name, TEXT) for name in ("id", "dialogue_id", "split", "review", "language", "domain")),
            *((name, TEXT) for name in ("topic", "topic_source")),
            ("conversation", pa.list_(UTTERANCE)),
            _json(REST),
        ]
    ),
    "quadruples": pa.schema(
        [
            ("context", pa.list_(TEXT)),
            *((name, TEXT) for name in ("human", "model", "random", "model_version", "action")),
            *IDENTITY,
            ("model_position", WHOLE),
            *_sampling("model_"),
        ]
    ),
    "sft": pa.schema([("prompt", MESSAGES), ("completion", MESSAGES), *IDENTITY, ("model_version", TEXT)]),
    "preference": pa.schema([("prompt", MESSAGES), ("chosen", MESSAGES), ("rejected", MESSAGES), *REJECTED]),
    "reward": pa.schema([("chosen", MESSAGES), ("rejected", MESSAGES), *REJECTED]),
    "kto": pa.schema(
        [
            ("prompt", MESSAGES),
            ("completion", MESSAGES),
            ("label", TRUTH),
            *IDENTITY,
            ("model_version", TEXT),
            ("origin", TEXT),
        ]
    ),
    "judgements": pa.schema(
        [*JUDGED, _json("value"), _json("remarks"), _json("schema_version"), _json(REST)]
    ),
    "dialeval": pa.schema(
        [
            ("id", TEXT),
            ("turns", pa.list_(pa.struct([("sender", TEXT), ("utterances", pa.list_(TEXT)), _json(REST)]))),
            ("annotations", pa.list_(pa.struct([("nugget", pa.list_(TEXT)), _json("quality"), _json(REST)]))),
            _json(REST),
        ]
    ),
    "assessment": pa.schema(
        [
            *((name, TEXT) for name in ("hit", "assignment", "worker", "state", "feedback")),
            ("run", WHOLE),
            ("duration in seconds", NUMBER),
            _json("result"),
        ]
    ),
    "diqad": pa.schema(
        [
            ("id", TEXT),
            ("split", TEXT),
            ("domain", TEXT),
            ("topic", TEXT),
            ("topic_source", TEXT),
            ("dialogue", MESSAGES),
            ("turns", WHOLE),
            _json("label"),
            ("reason", pa.list_(TEXT)),
            ("origin", TEXT),
            ("batch", WHOLE),
            ("round", WHOLE),
            ("review", TEXT),
            _json("judgements"),
            _json(REST),
        ]
    ),
}


class ParquetRows:
    """A RowWriter that writes a row group as soon as it is full, so that memory does not grow with the file."""

    def __init__(self, out: HashingWriter, format_name: str) -> None:
        self.rows = 0
        self._schema = SCHEMAS[format_name]
        self._waiting: list[Row] = []
        self._file = parquet.ParquetWriter(_Sink(out), self._schema, compression="zstd")

    def write(self, row: Row) -> None:
        self._waiting.append(_fit_to_schema(row, self._schema))
        self.rows += 1
        if len(self._waiting) == ROWS_AT_ONCE:
            self._write_group()

    def end(self) -> None:
        if self._waiting or not self.rows:
            self._write_group()
        self._file.close()

    def _write_group(self) -> None:
        table = pa.Table.from_pylist(self._waiting, schema=self._schema)
        self._file.write_table(table, row_group_size=max(1, len(self._waiting)))
        self._waiting = []


class _Sink:
    """The methods that Arrow calls on a file it only writes to."""

    closed = False

    def __init__(self, out: HashingWriter) -> None:
        self._out = out

    def write(self, data: Any) -> int:
        written = bytes(data)
        self._out.put(written)
        return len(written)

    def tell(self) -> int:
        return self._out.bytes

    def flush(self) -> None:
        """Flushing is up to the owner of the file."""

    def close(self) -> None:
        """Closing is up to the owner of the file."""

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _fit_to_schema(row: Mapping[str, Any], fields: pa.Schema | pa.StructType) -> Row:
    """The row with the columns of the schema: JSON text where the column says so; what has no column, or does not fit
    it, in REST."""
    known = [fields.field(place) for place in range(_width(fields))]
    made = {
        each.name: _value(row[each.name], each)
        for each in known
        if each.name in row and _fits(row[each.name], each)
    }
    names = {each.name for each in known if each.name not in row or each.name in made}
    if REST in names and (
        rest := {key: value for key, value in row.items() if key not in names or key == REST}
    ):
        made[REST] = _as_json_text(rest)
    return made


def _width(fields: pa.Schema | pa.StructType) -> int:
    return len(fields) if isinstance(fields, pa.Schema) else cast(int, fields.num_fields)


def _fits(value: Any, field: pa.Field) -> bool:
    """Imported metadata may have a column's name and another type."""
    wanted = None if field.metadata or value is None else PYTHON.get(field.type.id)
    return wanted is None or (isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool)))


def _value(value: Any, field: pa.Field) -> Any:
    if value is None:
        return None
    if field.metadata and b"json" in field.metadata:
        return _as_json_text(value)
    if field.type == MESSAGES:  # nothing to fit, and most of what there is
        return value
    if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
        return [_fit_to_schema(one, field.type.value_type) for one in value]
    return value


def _as_json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
