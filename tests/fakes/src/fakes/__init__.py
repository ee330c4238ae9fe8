"""Outside sites and networks as their documentation describes them, errors included, on this machine.

    async with serving(FakeX()) as x:       # inside a test; `in_thread` where there is no loop
        x.faults.inject("reset_after", "POST /2/tweets")
        …                                   # talk to x.url
        assert [post.text for post in x.accepted] == ["Hello"]

A provider is one file: a subclass of `Fake` whose routes answer like the provider, in a room named after our use of it (`channels`,
`sites`). `python -m fakes x` runs one as a process; `fakes.serving.process.started("x")` does so from a program.
"""

from fakes.serving.exchange import Part, Reply, Request, as_json, as_text, empty
from fakes.serving.fake import AcceptedItem, Fake, route
from fakes.serving.faults import Faults, Kind
from fakes.serving.server import away, in_thread, serving

__all__ = [
    "AcceptedItem",
    "Fake",
    "Faults",
    "Kind",
    "Part",
    "Reply",
    "Request",
    "as_json",
    "as_text",
    "away",
    "empty",
    "in_thread",
    "route",
    "serving",
]
