"""Which connector a system has, and which options the connectors take."""

from collections.abc import Mapping
from typing import Final

from assessment.systems.connectors.degraded import DegradedConnector, corpus_too_small
from assessment.systems.connectors.http import HTTPConnector
from assessment.systems.connectors.openai import OpenAIConnector
from assessment.systems.connectors.protocol import Connector as ConnectorProtocol
from assessment.systems.models import Connector, System
from generation.generators import NULL, Kinds
from generation.protocol import BackendError, Sampling

OPTIONS: Final[Mapping[str, Mapping[str, Kinds]]] = {
    Connector.GENERATOR: {},
    Connector.OPENAI: {
        "base_url": (str,),
        "model": (str,),
        "api_key_env": (str,),
        "system_prompt": (str,),
        "extra_body": (dict, NULL),
    },
    Connector.HTTP: {"address": (str,), "api_key_env": (str,)},
    Connector.DEGRADED: {},
}
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    Connector.OPENAI: ("base_url", "model"),
    Connector.HTTP: ("address",),
}
ADDRESSES: Final = {Connector.OPENAI: "base_url", Connector.HTTP: "address"}


def connector_for(system: System) -> ConnectorProtocol:
    """Raises BackendError for a system that is not asked through a connector."""
    match system.connector:
        case Connector.OPENAI:
            return OpenAIConnector(Sampling(**system.sampling), **system.options)
        case Connector.HTTP:
            return HTTPConnector(**system.options)
        case Connector.DEGRADED:
            if system.corpus_id is None:
                raise corpus_too_small()
            return DegradedConnector(system.corpus_id)
    raise BackendError("This system cannot be asked for replies.", "Choose another one.")
