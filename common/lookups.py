"""A lookup that Django does not have; the app's configuration registers it."""

from typing import Any

from django.db.models import Lookup


class AnyOf(Lookup):
    """`id__any_of=[…]` is `id__in=[…]` with one parameter instead of one each: of hundreds, taking them apart takes
    longer than reading their rows. PostgreSQL only; values as the database has them."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        kind = self.lhs.output_field.db_type(connection)
        # Without a type the array has the smallest that holds its values, and PostgreSQL cannot hash it.
        return f"{column} = ANY(%s::{kind}[])", (*parameters, list(self.rhs))
