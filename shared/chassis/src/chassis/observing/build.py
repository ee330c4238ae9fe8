"""What is running: the version of a process, the revision it was built from and its Python, under `/metrics`."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

UNKNOWN = "unknown"


class BuildInfo(Collector):
    """`<system>_build_info`, always 1; what it tells is in its labels.

    Args:
        system: what the process is a part of, `like_this`.
        name: the process's own; its version is that of the distribution `<system>-<name>`.
        revision: of the sources, as whoever built it says; may be empty.
    """

    def __init__(self, system: str, name: str, revision: str) -> None:
        self._family = GaugeMetricFamily(
            f"{system}_build_info", "What is running; always 1.", labels=("version", "revision", "python")
        )
        self._family.add_metric(
            (version_of(system, name), revision or UNKNOWN, platform.python_version()), 1.0
        )

    def collect(self) -> Iterator[Metric]:
        yield self._family


def version_of(system: str, name: str) -> str:
    """Of the installed distribution; `unknown` if the process runs from somewhere else."""
    try:
        return version(f"{system}-{name}")
    except PackageNotFoundError:
        return UNKNOWN
