"""A causal language model of Hugging Face shape, run in this process. Nothing outside this package imports torch.

`rendering` turns a dialogue into tokens, `contexts` encodes it once and keeps it for the next turn, `tree` grows
several replies from one encoded context, `sampling` draws their tokens, `engines` joins these (or falls back to
transformers' own `generate`), `packing` speeds up CPUs, `loading` finds faults before a person meets them,
`backend` answers requests.
"""

from generation.backends.hf.backend import HFBackend

__all__ = ["HFBackend"]
