"""Annotation in the administration pages: to look, not to touch. Long lists are not counted."""

from annotation.admin import authoring, batches, labelling, training

__all__ = ["authoring", "batches", "labelling", "training"]
