"""What others may rely on, published: made from catalogue, topology and permissions, so that it cannot say anything else.

`python -m messaging.contracts docs` writes `docs/asyncapi.json` and `docs/topology.md`.
"""

import json

from messaging.contracts import asyncapi, topology_page


def generate() -> dict[str, str]:
    """File name → text."""
    return {
        "asyncapi.json": json.dumps(asyncapi.describe(), indent=2, ensure_ascii=False) + "\n",
        "topology.md": topology_page.render(),
    }
