"""What workers do for exports."""

from jobs.registry import carries_out
from preference.exports.job import carry_out_export
from preference.services.exports import KIND

carries_out(KIND)(carry_out_export)
