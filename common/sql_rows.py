"""Statements that are made once, for what nearly every request asks; what they give and take are models' rows.

Django makes its own anew each time, which takes longer than PostgreSQL needs to answer them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from django.db import connection, models


class Side:
    """A model's columns under the alias that the statement gives its table.

    without: fields that are fetched where somebody asks for them. Raises TypeError for fields whose values Django
    converts when it reads them (JSON): such are left out.
    """

    def __init__(self, model: type[models.Model], alias: str, *, without: tuple[str, ...] = ()) -> None:
        fields = [field for field in model._meta.concrete_fields if field.name not in without]
        self.model = model
        self.names = [field.attname for field in fields]
        self.columns = [f'{alias}."{field.column}"' for field in fields]
        if converted := [field.name for field in fields if hasattr(field, "from_db_value")]:
            raise TypeError(f"{model.__name__}: leave out {', '.join(converted)}")

    def row(self, values: Any) -> Any:
        """The next values as a row; None where an outer join found nothing."""
        own = list(islice(values, len(self.names)))
        key = self.names.index(self.model._meta.pk.attname)
        return None if own[key] is None else self.model.from_db(connection.alias, self.names, own)


class Value:
    """One more value: what PostgreSQL makes of this expression."""

    def __init__(self, expression: str) -> None:
        self.columns = [expression]

    def row(self, values: Any) -> Any:
        return next(values)


class Joined:
    """A statement with {columns} in the place of what its sides select."""

    def __init__(self, statement: str, *sides: Side | Value) -> None:
        self.sides = sides
        self.sql = statement.format(columns=", ".join(column for side in sides for column in side.columns))

    def first(self, parameters: Mapping[str, Any]) -> list[Any] | None:
        """A row or value of each side, in their order; None where the statement finds nothing."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, parameters)
            found = cursor.fetchone()
        if found is None:
            return None
        values = iter(found)
        return [side.row(values) for side in self.sides]


class NewRow:
    """A row of a model that is not stored yet, and its columns but a key that the database gives. Raises TypeError for
    models with fields that Django or the database fills.

    columns and places: what stands behind INSERT INTO and VALUES; the places are named "new_" and the column.
    """

    def __init__(self, model: type[models.Model]) -> None:
        meta = model._meta
        self.fields = [field for field in meta.concrete_fields if field is not meta.auto_field]
        filled = [one.name for one in self.fields if one.generated or getattr(one, "auto_now", False)]
        if filled:
            raise TypeError(f"{model.__name__}: {', '.join(filled)} is filled by itself")
        self.table = f'"{meta.db_table}"'
        self.columns = ", ".join(f'"{field.column}"' for field in self.fields)
        self.places = ", ".join(f"%(new_{field.column})s" for field in self.fields)
        key = f'RETURNING "{meta.pk.column}"'
        self.sql = f"INSERT INTO {self.table} ({self.columns}) VALUES ({self.places}) {key}"  # noqa: S608

    def values(self, row: models.Model) -> dict[str, Any]:
        """What the row puts in the places."""
        return {
            f"new_{field.column}": in_database(field, getattr(row, field.attname)) for field in self.fields
        }

    def stored(self, row: models.Model, key: Any) -> None:
        """A statement has stored it under this key."""
        row.pk = key
        row._state.adding, row._state.db = False, connection.alias

    def insert(self, row: models.Model) -> None:
        """Store it. IntegrityError as from `save`."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.values(row))
            [key] = cursor.fetchone()
        self.stored(row, key)


def in_database(field: models.Field[Any, Any], value: Any) -> Any:
    """A field's value as a parameter of a statement. ValueError for a row that is not stored."""
    if isinstance(value, models.Model):
        value = value.prepare_database_save(field)
    return field.get_db_prep_save(value, connection)
