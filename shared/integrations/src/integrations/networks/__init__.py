"""Social networks: where posts go."""

from collections.abc import Mapping
from typing import Final

from integrations.discovery import find_entries
from integrations.networks.network import READ, Network, Placement, TextLimit

NETWORKS: Final[Mapping[str, Network]] = {
    each.name: each
    for each in sorted(
        (entry for _, entry in find_entries(__name__, Network)), key=lambda each: (each.position, each.name)
    )
}
"""All of them by name, in the order of their positions."""

__all__ = ["NETWORKS", "READ", "Network", "Placement", "TextLimit"]
