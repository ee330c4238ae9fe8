#!/usr/bin/env python3
"""Writes the dashboards in `dashboards/`: one of the pipeline, one of the backbone, one per service from one pattern.

Every panel says what it shows, and what to make of it where that is not plain.

The JSON is committed, since that is what Grafana reads; a test fails when it is not what this script would write.
Usage: generate.py [FOLDER]
"""

import json
import sys
from pathlib import Path

from backbone import backbone
from outside import gateway
from per_service import service
from pipeline import pipeline
from queues import QUEUES
from screens import console


def main(folder: Path) -> None:
    for made in (pipeline(), backbone(), *map(service, QUEUES), gateway(), console()):
        name = made["uid"].removeprefix("brand-engine-")
        (folder / f"{name}.json").write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("dashboards"))
