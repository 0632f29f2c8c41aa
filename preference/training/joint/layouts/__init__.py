"""Micro-batches for `JointModel.forward`: what to encode once, and how rows are filled.

`rows` turns forests of tokens into tensors, `units` lays quadruples out as forests, `steps` fills the micro-batches of
an optimiser step, `choice` finds out what a model can do.
"""

from preference.training.joint.layouts.choice import choose_layout, why_not_shared
from preference.training.joint.layouts.rows import Collated, MicroBatch, Row, collate
from preference.training.joint.layouts.steps import LAYOUTS, Layout

__all__ = ["LAYOUTS", "Collated", "Layout", "MicroBatch", "Row", "choose_layout", "collate", "why_not_shared"]
