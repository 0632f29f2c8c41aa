"""A lookup that Django lacks; the configuration of accounts, the first of our apps, registers it for every field."""

from typing import Any

from django.db.models import Lookup


class AnyOf(Lookup):
    """`id__any_of=[…]` is `id__in=[…]` with one array parameter instead of one parameter per value.

    With hundreds of values, parsing them one by one takes longer than reading their rows, and PostgreSQL takes at most
    65,535 parameters apart from a statement (docs/decisions/0027). PostgreSQL only; the values must have the type that
    the column has in the database.
    """

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        kind = self.lhs.output_field.db_type(connection)
        # Without the cast the array gets the smallest type that holds its values, and PostgreSQL cannot hash it.
        return f"{column} = ANY(%s::{kind}[])", (*parameters, list(self.rhs))
