"""Pages of the web as research ranks them. Pure."""

from dataclasses import dataclass
from datetime import timedelta

from reading.document import ExtractedDocument

CACHE_PERIOD = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A web page, read for one keyword. `weight` multiplies its quality; preferred pages have more than 1.

    The number of sources per `host` is limited; None means no limit.
    """

    document: ExtractedDocument
    host: str | None
    weight: float = 1.0
    quotable: bool = False
    """See `ResearchSource`."""
