"""Generates the published contracts from catalogue, topology and permissions.

`python -m messaging contracts CATALOGUE FOLDER` writes `asyncapi.json` and `topology.md`.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType

from envelope import Catalogue, Message
from messaging.topology.contracts.asyncapi import DEAD_LETTER, AsyncApiDocument
from messaging.topology.contracts.topology_page import TopologyPage

__all__ = ["DEAD_LETTER", "AsyncApiDocument", "TopologyPage", "generate"]


def generate(catalogue: Catalogue, examples: Mapping[str, Message] = MappingProxyType({})) -> dict[str, str]:
    """Generates the documents: file name → text; `examples` are by message type."""
    return {
        "asyncapi.json": json.dumps(
            AsyncApiDocument(catalogue, examples).describe(), indent=2, ensure_ascii=False
        )
        + "\n",
        "topology.md": TopologyPage(catalogue).render(),
    }
