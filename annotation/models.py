"""Loads the models of every room, so that Django finds them. Import a model from its own room."""

import annotation.authoring.models
import annotation.batch_review.models
import annotation.expert_review.models
import annotation.labelling.models.gold
import annotation.labelling.models.labels
import annotation.labelling.models.statistics
import annotation.onboarding.models
import annotation.tasks.models.rounds
import annotation.tasks.models.work  # noqa: F401
