"""A causal language model in Hugging Face format, run in this process. In `generation` only this package imports torch.

`rendering` turns a dialogue into tokens, `contexts` encodes it once and keeps it for the next turn, `tree` grows
several replies from one encoded context, `sampling` draws their tokens, `engines` combines these (or falls back to
transformers' own `generate`), `packing` makes CPUs faster, `loading` checks a model before it serves, `backend` answers
requests.
"""

from generation.backends.hf.backend import HFBackend

__all__ = ["HFBackend"]
