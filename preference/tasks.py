"""What workers do for exports, snapshots, trainings and evaluations."""

from jobs.registry import carries_out
from preference.exports.hub import carry_out_push
from preference.exports.job import carry_out_export
from preference.exports.snapshot import carry_out_snapshot
from preference.runs.evaluation import carry_out_evaluation
from preference.runs.training import carry_out_training
from preference.services import evaluation, snapshots, training
from preference.services.exports import KIND

carries_out(KIND)(carry_out_export)
carries_out(snapshots.KIND)(carry_out_snapshot)
carries_out(snapshots.PUSH)(carry_out_push)
carries_out(training.KIND)(carry_out_training)
carries_out(evaluation.KIND)(carry_out_evaluation)
