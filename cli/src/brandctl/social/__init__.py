"""Commands that ask social: posts that a person sees before they go out."""

from brandctl.social.client import Posts
from brandctl.social.posts import app as posts_app

__all__ = ["Posts", "posts_app"]
