"""Rows of several models out of one statement that is made once, for what nearly every request asks.

`select_related` makes its statement anew each time, which takes longer than PostgreSQL needs to answer it.
"""

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


class Joined:
    """A statement with {columns} in the place of what its sides select."""

    def __init__(self, statement: str, *sides: Side) -> None:
        self.sides = sides
        self.sql = statement.format(columns=", ".join(column for side in sides for column in side.columns))

    def first(self, parameters: Mapping[str, Any]) -> list[Any] | None:
        """A row of each side, in their order; None where the statement finds nothing."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, parameters)
            found = cursor.fetchone()
        if found is None:
            return None
        values = iter(found)
        return [side.row(values) for side in self.sides]
