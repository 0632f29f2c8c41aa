"""The PostgreSQL and Redis that Lapidary brings along. Imports no Django; config/embedded.py is the way in."""
