"""Loads the models of every room, so that Django finds them. Import a model from its own room."""

import assessment.collections.models
import assessment.sessions.models.conversations
import assessment.sessions.models.participants
import assessment.sessions.models.runs
import assessment.setup.models
import assessment.systems.models  # noqa: F401
