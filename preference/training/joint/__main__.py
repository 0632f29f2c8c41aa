"""`python -m preference.training.joint`: see command.py."""

import os

from preference.training.joint.command import leave, main

# Before PyTorch is loaded. Threads that spin while they wait for each other are ten times slower beside other work
# (measured on two cores shared with a server: 16.2 s a step, then 1.5 s), and no faster alone.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
leave(main())
