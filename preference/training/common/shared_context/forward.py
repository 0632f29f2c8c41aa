"""Running a causal language model on rows: hidden states everywhere, logits only where they are asked for.

Logits at all positions would be the largest tensor of a forward pass: B · L · vocabulary numbers, of which a training
step needs one in three, and a score one in two hundred.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from preference.training.common.messages import gettext as _
from preference.training.common.shared_context.attention import additive_mask


def model_inputs(
    backbone: Any, input_ids: Tensor, position_ids: Tensor | None, attention: Tensor | None
) -> dict[str, Tensor]:
    """Arguments of a transformers model for tensors of `rows.collate`.

    input_ids, position_ids: (B, L); positions None: 0 … L - 1. attention: (B, L, S + L), True where a token sees
    another; None: causal.
    """
    inputs = {"input_ids": input_ids}
    if position_ids is not None:
        inputs["position_ids"] = position_ids
    if attention is not None:
        inputs["attention_mask"] = additive_mask(attention, backbone)
    return inputs


def hidden_and_logits(
    backbone: Any, at: Tensor, *, logits_are_linear: bool, **inputs: Any
) -> tuple[Tensor, Tensor]:
    """Hidden states (B, L, hidden) and logits (N, vocabulary) at the N places `at`, (N, 2), row and column.

    logits_are_linear: as `logits_are_linear_in_hidden` says of this backbone.
    """
    rows, columns = at.unbind(1)
    if logits_are_linear:
        hidden: Tensor = backbone.base_model(**inputs).last_hidden_state
        return hidden, backbone.get_output_embeddings()(hidden[rows, columns])
    output = backbone(**inputs, output_hidden_states=True)
    return output.hidden_states[-1], output.logits[rows, columns]


@torch.no_grad()
def logits_are_linear_in_hidden(backbone: Any) -> bool:
    """Whether the output layer alone turns last hidden states into logits; found by running both on 8 tokens.

    False for models that scale or cap their logits afterwards, or that do not expose the two parts.
    """
    vocabulary = backbone.get_input_embeddings().weight.shape[0]
    tokens = torch.tensor([[7 * i % vocabulary for i in range(1, 9)]], device=backbone.device)
    was_training = backbone.training
    backbone.eval()
    try:
        hidden = backbone.base_model(input_ids=tokens, use_cache=False).last_hidden_state
        from_hidden = backbone.get_output_embeddings()(hidden)
        logits = backbone(input_ids=tokens, use_cache=False).logits
        return bool(torch.allclose(from_hidden.float(), logits.float(), rtol=1e-3, atol=1e-5))
    except (AttributeError, TypeError):  # a structure unlike most models'
        return False
    finally:
        backbone.train(was_training)


def disable_dropout(backbone: Any) -> list[str]:
    """Set every dropout to 0, in place; a note if there was any.

    Replies that share an encoded context share its dropout mask as well. Encoded apart they would each have their own,
    so that the layouts would have different gradients.
    """
    changed = []
    for module in [backbone.config, *backbone.modules()]:
        for name, value in list(vars(module).items()):
            if isinstance(value, float) and value > 0 and _is_dropout(module, name):
                setattr(module, name, 0.0)
                changed.append(name)
    if not changed:
        return []
    return [_("Dropout is set to 0, because replies that share a context cannot each have their own.")]


def _is_dropout(module: Any, name: str) -> bool:
    """`attention_dropout`, `resid_pdrop`, `layerdrop` … and the probability of a dropout module."""
    return "drop" in name or (name == "p" and isinstance(module, nn.modules.dropout._DropoutNd))


def longest_sequence(config: Any) -> int | None:
    """The longest sequence that the model takes, in tokens; None if its configuration does not say."""
    return getattr(config.get_text_config(decoder=True), "max_position_embeddings", None) or None
