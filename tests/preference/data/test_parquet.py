"""Exports as Parquet: the rows of the JSON Lines, an explicit schema, the same bytes every time."""

import hashlib
import io
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from dialogues.models import Dialogue, Split
from jobs.models import Job, JobState
from preference.data.formats import parquet as writing
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.parquet import SCHEMAS, ParquetRows
from preference.data.formats.writing import HashingWriter, export
from preference.data.models.exports import Export, FileType, FormatName
from preference.data.selectors.exports import file_of
from preference.data.selectors.formats import formats_of_protocol
from preference.data.selectors.selection import select
from projects.models import Project, Protocol
from tests.preference.conftest import EVERYTHING, PASS, Rows, Written, diamante_file

Imports = Callable[..., Job]
Exported = Callable[..., Job]
JSON = {b"json": b"1"}


def parquet_of(project: Project, format: str) -> bytes:
    out = io.BytesIO()
    export(FORMATS[format], select(project, EVERYTHING), out, file_type=FileType.PARQUET)
    return out.getvalue()


def back(value: Any, kind: pa.DataType | pa.Schema) -> Any:
    """A value that was read, as the JSON Lines have it: without what is absent, JSON text read, other keys put back."""
    if pa.types.is_list(kind) if isinstance(kind, pa.DataType) else False:
        return [back(one, kind.value_type) for one in value]
    if isinstance(kind, pa.Schema) or pa.types.is_struct(kind):
        fields = [
            kind.field(place)
            for place in range(len(kind) if isinstance(kind, pa.Schema) else kind.num_fields)
        ]
        made: dict[str, Any] = {}
        for each in fields:
            if value[each.name] is not None:
                read = (
                    json.loads(value[each.name])
                    if each.metadata == JSON
                    else back(value[each.name], each.type)
                )
                made |= read if each.name == "other" else {each.name: read}
        return made
    return value


def dropped(value: Any) -> Any:
    """Without nulls: an absent key and null are one in Parquet."""
    if isinstance(value, dict):
        return {key: dropped(one) for key, one in value.items() if one is not None}
    return [dropped(one) for one in value] if isinstance(value, list) else value


def test_every_shape_has_a_schema() -> None:
    assert set(SCHEMAS) == set(FormatName.values)


@pytest.mark.parametrize("format", formats_of_protocol(Protocol.AUTHORING))
def test_it_holds_what_the_json_lines_hold(
    project: Project, written: Written, imports: Imports, rows: Rows, format: str
) -> None:
    written(PASS), written(PASS)
    imports([{**row, "mood": {"glad": [1, "2"]}} for row in diamante_file(2)])
    Dialogue.objects.update(split=Split.TRAIN)
    table = parquet.read_table(io.BytesIO(parquet_of(project, format)))
    assert table.schema.equals(SCHEMAS[format], check_metadata=False)
    assert [back(row, SCHEMAS[format]) for row in table.to_pylist()] == dropped(rows(format))


def test_the_same_rows_are_the_same_bytes(project: Project, imports: Imports) -> None:
    imports(diamante_file(3))
    assert len({parquet_of(project, "quadruples") for _twice in range(2)}) == 1


def test_nothing_is_a_table_without_rows(project: Project) -> None:
    table = parquet.read_table(io.BytesIO(parquet_of(project, "kto")))
    assert (table.num_rows, table.column_names) == (
        0,
        ["prompt", "completion", "label", "dialogue_id", "turn", "language", "model_version", "origin"],
    )


def test_a_row_group_is_written_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROWS_AT_ONCE", 4)
    out = io.BytesIO()
    rows = ParquetRows(HashingWriter(out), "kto")
    sizes = []
    for _number in range(10):
        rows.write({"prompt": [], "completion": [{"role": "user", "content": "x"}], "label": True})
        sizes.append(out.tell())
    rows.end()
    assert sizes[3] < sizes[4] or sizes[2] < sizes[3] < sizes[7]
    groups = parquet.ParquetFile(io.BytesIO(out.getvalue())).metadata
    assert [groups.row_group(place).num_rows for place in range(groups.num_row_groups)] == [4, 4, 2]


def test_memory_does_not_grow_with_the_rows() -> None:
    def peak(groups: int) -> int:
        rows = ParquetRows(HashingWriter(nowhere), "quadruples")
        tracemalloc.start()
        before = pa.total_allocated_bytes()
        for number in range(groups * 500):
            text = f"{number} " * 50
            rows.write({"context": [text] * 20, "human": text, "model": text, "random": text, "turn": 1})
        rows.end()
        grown: int = tracemalloc.get_traced_memory()[1] + pa.total_allocated_bytes() - before
        tracemalloc.stop()
        return grown

    with Path(os.devnull).open("wb") as nowhere:
        small, large = peak(4), peak(24)
    assert large < 1.5 * small


def test_a_job_writes_it_with_its_manifest(project: Project, written: Written, exported: Exported) -> None:
    written(PASS)
    job = exported("preference", file_type="parquet", seed=9, epoch=1, random=False)
    assert job.state == JobState.DONE, job.error
    made = Export.objects.select_related("job").get(job=job)
    path = file_of(made)
    assert path.suffix == ".parquet"
    manifest = json.loads(Path(f"{path}.manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (manifest["file_type"], manifest["seed"], manifest["epoch"]) == ("parquet", 9, 1)
    assert parquet.ParquetFile(path).metadata.num_rows == manifest["rows"] == 20


def test_metadata_with_a_columns_name_and_another_type_is_kept_among_the_rest(
    project: Project, imports: Imports, rows: Rows
) -> None:
    said = [
        {"role": "user", "content": "Hello", "source": "web", "action": 5},
        {"role": "assistant", "content": "Hello, you!", "edit_distance": True},
    ]
    imports([{"messages": said}], "messages")
    table = parquet.read_table(io.BytesIO(parquet_of(project, "diamante")))
    assert [back(row, SCHEMAS["diamante"]) for row in table.to_pylist()] == dropped(rows("diamante"))
