"""What workers do for exports, trainings and evaluations."""

from jobs.registry import carries_out
from preference.exports.job import carry_out_export
from preference.runs.evaluation import carry_out_evaluation
from preference.runs.training import carry_out_training
from preference.services import evaluation, training
from preference.services.exports import KIND

carries_out(KIND)(carry_out_export)
carries_out(training.KIND)(carry_out_training)
carries_out(evaluation.KIND)(carry_out_evaluation)
