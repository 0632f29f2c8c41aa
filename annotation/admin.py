"""Loads the admin pages of every room, so that Django finds them."""

import annotation.authoring.admin
import annotation.batch_review.admin
import annotation.expert_review.admin
import annotation.labelling.admin
import annotation.onboarding.admin
import annotation.tasks.admin  # noqa: F401
