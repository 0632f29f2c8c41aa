"""The oldest PostgreSQL that the tables and queries work on."""

from typing import Final

# One uniqueness rule of collections says NULLS NOT DISTINCT, which Django leaves out silently on older servers.
OLDEST_POSTGRES: Final = 15
