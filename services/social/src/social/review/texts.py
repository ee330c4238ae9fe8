"""The text of an edited post, within the limits of its channel."""

from chassis.http.problem_codes import RefusalError
from social import problem_codes as codes
from social.channels import CHANNELS
from social.composing import TextCount
from social.cutting import clean_line


def fit(channel: str, text: str) -> str:
    """The cleaned text, with its lines and paragraphs.

    Raises:
        RefusalError: it is blank, or exceeds a limit of the channel.
    """
    fitting = cleaned(text)
    if not fitting:
        raise RefusalError(codes.UNUSABLE_TEXT, "text: is blank; reject the post if it should not go out")
    for count in counts(channel, fitting):
        if count.used > count.maximum:
            label = CHANNELS[channel].network.title
            raise RefusalError(
                codes.UNUSABLE_TEXT,
                f"text: has {count.used:,} {count.unit}, and {label} takes {count.maximum:,}; shorten it",
            )
    return fitting


def cleaned(text: str) -> str:
    """The text as it is stored: without spaces around lines, and with one empty line between paragraphs."""
    lines = [clean_line(line) for line in text.splitlines()]
    fitting = "\n".join(lines).strip()
    while "\n\n\n" in fitting:
        fitting = fitting.replace("\n\n\n", "\n\n")
    return fitting


def counts(channel: str, text: str) -> tuple[TextCount, ...]:
    """The length of a text by each limit of a channel."""
    limits = CHANNELS[channel].limits if channel in CHANNELS else ()
    return tuple(TextCount(limit.unit, limit.count(text), limit.maximum) for limit in limits)
