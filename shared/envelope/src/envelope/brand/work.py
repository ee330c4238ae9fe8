"""Identifies the piece of work that a message is about: equal for two commands of the same step of the same chain.

A piece of work has an id. So a dead letter can be closed once another command has completed its work.
"""

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from envelope.brand.catalogue import CATALOGUE
from envelope.brand.payloads import (
    ContentGenerate,
    ContentPublish,
    ContentPublished,
    ContentPublishFailed,
    PostSend,
    ResearchCompleted,
    ResearchFailed,
    ResearchRequested,
    ResearchWaiting,
    SocialCreate,
    SocialFailed,
    SocialPosted,
)
from envelope.message import Payload

_NAMESPACE: Final = uuid5(NAMESPACE_URL, "brand-engine/work")


def work_ids_of(payload: Payload, correlation_id: str | None) -> tuple[UUID, ...]:  # noqa: PLR0911  (one for each step)
    """The pieces of work that a message requests or reports: one for each channel of `social.create`, else one or none.

    Revisions of an article, and publications with `overwrite`, are none: no other command does the same.
    """
    match payload:
        case ResearchRequested() | ResearchCompleted() | ResearchFailed() | ResearchWaiting():
            if correlation_id is None:
                return ()
            return (researching_id(payload.brand_slug, correlation_id, payload.keyword),)
        case ContentGenerate(revision=None):
            return (writing_id(payload.brand_slug, payload.content_id),)
        case ContentPublish(overwrite=False) | ContentPublishFailed():
            return (publishing_id(payload.brand_slug, payload.content_id, payload.target),)
        case ContentPublished(target=str() as target):
            return (publishing_id(payload.brand_slug, payload.content_id, target),)
        case SocialCreate():
            return tuple(
                announcing_id(payload.brand_slug, payload.content_id, each) for each in payload.channels
            )
        case SocialPosted() | SocialFailed():
            return (announcing_id(payload.brand_slug, payload.content_id, payload.platform),)
        case PostSend():
            return (sending_id(payload.brand_slug, payload.post_id),)
        case _:
            return ()


def work_ids_in(
    message_type: str, payload: Mapping[str, Any], correlation_id: str | None
) -> tuple[UUID, ...]:
    """The pieces of work of an encoded message; none if it is invalid."""
    entry = CATALOGUE.get(message_type)
    if entry is None:
        return ()
    try:
        return work_ids_of(entry.payload.model_validate(dict(payload)), correlation_id)
    except ValidationError:
        return ()


def reporter_of(message_type: str) -> str:
    """The service that may report work of this message type as finished."""
    return "social" if message_type == CATALOGUE.type_of(PostSend).name else "orchestrator"


def researching_id(brand_slug: str, correlation_id: str, keyword: str) -> UUID:
    """The work on a keyword in one chain."""
    return _id("research", brand_slug, correlation_id, keyword)


def writing_id(brand_slug: str, content_id: UUID) -> UUID:
    """The first version of an article."""
    return _id("write", brand_slug, content_id)


def publishing_id(brand_slug: str, content_id: UUID, target: str) -> UUID:
    """An article at one target."""
    return _id("publish", brand_slug, content_id, target)


def announcing_id(brand_slug: str, content_id: UUID, channel: str) -> UUID:
    """The first post about an article on one channel of `social.create`."""
    return _id("announce", brand_slug, content_id, channel)


def sending_id(brand_slug: str, post_id: UUID) -> UUID:
    """One post to a channel at another network."""
    return _id("post", brand_slug, post_id)


def _id(*names: object) -> UUID:
    return uuid5(_NAMESPACE, json.dumps([str(name) for name in names]))
