"""Backends of `generation.protocol`, one shape each, chosen by dotted path. Only `hf*` modules import torch."""
