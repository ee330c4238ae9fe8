"""Counters of events in this process, by kind, for Prometheus."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from chassis.observing.metrics import Families


class LabelledCounter:
    """A Prometheus counter with one label.

    Args:
        name: the metric's name.
        told: the metric's help text.
        label: the label's name.
        kinds: all values of the label, exported from the start, as a rate needs a first value.
    """

    def __init__(self, name: str, told: str, label: str, kinds: Iterable[str]) -> None:
        self._name = name
        self._told = told
        self._label = label
        self._counts = Counter(dict.fromkeys(kinds, 0))

    def count(self, kind: str, times: int = 1) -> None:
        self._counts[kind] += times

    def shown(self, families: Families) -> Collector:
        """A collector that exports this counter."""
        return _TallyCollector(self, families)

    def collected(self, families: Families) -> Metric:
        counter = families.counter(self._name, self._told, self._label)
        for kind, count in self._counts.items():
            counter.add_metric((kind,), count)
        return counter


class _TallyCollector(Collector):
    def __init__(self, tally: LabelledCounter, families: Families) -> None:
        self._tally = tally
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield self._tally.collected(self._families)
