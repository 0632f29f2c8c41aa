"""What workers of the queue `training` carry out: each a process of its own, which a job follows.

A crash, an out-of-memory kill or a cancel thus never takes the worker along, and the worker itself loads no torch.
"""
