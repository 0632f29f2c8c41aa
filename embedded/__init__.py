"""The embedded PostgreSQL and Redis. Imports no Django; config/embedded.py is the interface."""
