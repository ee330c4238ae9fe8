"""Sends posts to other platforms, from the command to the address of the post."""

from social.sending.due import DuePosts, send_next
from social.sending.handlers import PostSender, SendRetryPolicy
from social.sending.pictures import PublishedPictures
from social.sending.rule_routes import rule_routes
from social.sending.standing import SendingGate, SendingHold
from social.sending.store import addresses_elsewhere, count_posts, note_loss
from social.sending.store import until_next as until_next_post

__all__ = [
    "DuePosts",
    "PostSender",
    "PublishedPictures",
    "SendRetryPolicy",
    "SendingGate",
    "SendingHold",
    "addresses_elsewhere",
    "count_posts",
    "note_loss",
    "rule_routes",
    "send_next",
    "until_next_post",
]
