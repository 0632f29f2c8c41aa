"""Loads the admin pages of every room, so that Django finds them."""

import preference.data.admin
import preference.evaluation.admin
import preference.evaluators.admin
import preference.registry.admin
import preference.runs.admin
import preference.topics.admin  # noqa: F401
