"""What workers do for dialogues."""

from dialogues.services import imports
from jobs.registry import carries_out

carries_out(imports.KIND)(imports.carry_out_import)
