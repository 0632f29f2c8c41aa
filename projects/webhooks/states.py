"""The states of a webhook."""

from projects.models import WebhookState
from projects.transitions import Moves

MOVES: Moves = {
    WebhookState.ON: {WebhookState.OFF, WebhookState.REMOVED},
    WebhookState.OFF: {WebhookState.ON, WebhookState.REMOVED},
    WebhookState.REMOVED: frozenset[str](),
}
