"""Mail with a text and an HTML part. Its Message-ID is the same in every attempt."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from monitor.notifications.channels.channel import Mail, NotificationChannel
from monitor.notifications.message import Message, cut


def form(message: Message, addresses: Sequence[str]) -> Mail:
    return Mail(
        to=tuple(addresses),
        subject=" ".join(cut(message.title, 150).split()),
        text="\n".join(_text(message)),
        html="".join(_html(message)),
        message_id=f"<{message.id}@brand-engine.invalid>",
    )


def _text(message: Message) -> Iterator[str]:
    yield message.title
    for paragraph in message.paragraphs:
        yield from ("", paragraph)
    for line in message.lines:
        yield ""
        yield f"* {line.headline}"
        yield from line.parts(detail="  {}".format, command="  {}".format, link="  {}".format)
    if message.rest:
        yield from ("", message.rest)
    yield ""


def _html(message: Message) -> Iterator[str]:
    yield '<!doctype html><html><body style="font-family:sans-serif;max-width:40em">'
    yield f'<h1 style="font-size:1.2em">{escape(message.title)}</h1>'
    for paragraph in message.paragraphs:
        yield f"<p>{escape(paragraph)}</p>"
    if message.lines:
        yield "<ul>"
        for line in message.lines:
            yield f"<li><p><strong>{escape(line.headline)}</strong>"
            yield from line.parts(
                detail=lambda text: f"<br>{escape(text)}",
                command=lambda text: f"<br><code>{escape(text)}</code>",
                link=lambda text: f'<br><a href="{escape(text)}">{escape(text)}</a>',
            )
            yield "</p></li>"
        yield "</ul>"
    if message.rest:
        yield f"<p>{escape(message.rest)}</p>"
    yield "</body></html>"


CHANNEL: Final = NotificationChannel(form, "addresses of mail", 20)
