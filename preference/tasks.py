"""Makes the worker know the jobs of this app."""

from preference import services

__all__ = ["services"]
