"""The metric with the version, source revision and Python of a process."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

UNKNOWN = "unknown"


class BuildInfo(Collector):
    """Collects `<system>_build_info`, always 1; its labels hold the facts.

    Args:
        system: prefix of the metric's name, `like_this`.
        name: name of the process; its version is that of the distribution `<system>-<name>`.
        revision: revision of the sources, set by the build; may be empty.
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
    """Return the version of the installed distribution; `unknown` if there is none."""
    try:
        return version(f"{system}-{name}")
    except PackageNotFoundError:
        return UNKNOWN
