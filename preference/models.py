"""Loads the models of every room, so that Django finds them. Import a model from its own room."""

import preference.data.models.exports
import preference.data.models.hub_tokens
import preference.data.models.snapshots
import preference.evaluation.models
import preference.evaluators.models
import preference.registry.models
import preference.runs.models
import preference.topics.models  # noqa: F401
