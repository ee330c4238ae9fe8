"""How many articles ended without a publication, by reason, for Prometheus. Counted where they end, in this process."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from chassis.observing.metrics import Families


class Refusals:
    """Counts of `content.refused`.

    Args:
        reasons: all there are, shown from the start: a rate needs something to begin with.
    """

    def __init__(self, reasons: Iterable[str]) -> None:
        self._counts = Counter(dict.fromkeys(reasons, 0))

    def count(self, reason: str) -> None:
        self._counts[reason] += 1

    def shown(self, families: Families) -> Collector:
        """As a metric of the process."""
        return _Shown(families, self._counts)


class _Shown(Collector):
    def __init__(self, families: Families, counts: Counter[str]) -> None:
        self._families = families
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        refused = self._families.counter(
            "articles_refused", "Articles that ended without a publication, by reason.", "reason"
        )
        for reason, count in self._counts.items():
            refused.add_metric((reason,), count)
        yield refused
