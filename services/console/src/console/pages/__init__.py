"""What every screen uses: the signed-in person, pages, forms, redirects, and actions that happen once."""

from console.pages.forms import Form, FormData
from console.pages.layout import done_word, page, redirect
from console.pages.navigation import NavigationEntry
from console.pages.once import once, once_or_refused, once_shown
from console.pages.viewer import PageViewer, Viewer
from console.service_clients import Away, Refused

__all__ = [
    "Away",
    "Form",
    "FormData",
    "NavigationEntry",
    "PageViewer",
    "Refused",
    "Viewer",
    "done_word",
    "once",
    "once_or_refused",
    "once_shown",
    "page",
    "redirect",
]
