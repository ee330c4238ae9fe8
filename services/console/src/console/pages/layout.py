"""Renders pages: the whole one, or the part of it that an htmx request asks for."""

import secrets
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from itertools import count
from typing import Any, Final

from jinja2 import PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from chassis.http.callers import Scope
from console.compiled_templates import CompiledTemplates
from console.page_names import name_pages
from console.pages.parts import ConsoleParts, parts_of
from console.pages.template_context import PageEnvironment
from console.pages.viewer import PageViewer
from console.texts import Texts, language_of
from console.urls import chain_path

_CONTENT: Final = "content"
_MACROS: Final = "layout/macros.html.j2"


def templates() -> PageEnvironment:
    """The templates of all screens; every value is escaped.

    The filter `pages` puts the names of pages in the place of commands and addresses in what services say.
    """
    environment = PageEnvironment(
        loader=PackageLoader("console", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=CompiledTemplates(),
    )
    environment.filters["pages"] = _with_pages
    return environment


@pass_context
def _with_pages(context: Context, sentence: str | None) -> str | None:
    return sentence and name_pages(sentence, context["t"])


def page(
    request: Request, viewer: PageViewer | None, template: str, status: int = HTTPStatus.OK, **values: Any
) -> Response:
    """Renders a template that extends `layout/page.html.j2`.

    A request of htmx gets one block: that named like its target (`#draft-list` is `draft_list`), else `content`.
    """
    parts = parts_of(request)
    context = _context(parts, request, viewer) | values
    # Macros see the page's texts, which a global import would not have.
    macros = parts.templates.get_template(_MACROS).make_module(context)
    context |= {name: getattr(macros, name) for name in dir(macros) if not name.startswith("_")}
    found = parts.templates.get_template(template)
    if request.headers.get("hx-request") == "true":
        target = request.headers.get("hx-target", "").rpartition("#")[2].replace("-", "_")
        if target == "paused_queues":
            text = parts.templates.get_template("layout/paused_queues.html.j2").render(context)
        else:
            block = found.blocks.get(target) or found.blocks[_CONTENT]
            text = "".join(block(found.new_context(context)))
    else:
        text = found.render(context)
    return HTMLResponse(text, status, headers={"Vary": "HX-Request, Cookie"})


def redirect(request: Request, path: str) -> Response:
    """Sends the browser to another page of the console, such as `/b/acme/drafts`, after a POST."""
    return RedirectResponse(parts_of(request).urls.path(path), HTTPStatus.SEE_OTHER)


def done_word(request: Request, known: Collection[str]) -> str:
    """Returns the word in the address of what was done, which an action redirects to; empty for one that is not known.

    A refused form, which is answered at its own address, has none.
    """
    word = request.query_params.get("done", "")
    return word if request.method == "GET" and word in known else ""


def texts_of(request: Request, viewer: PageViewer | None) -> Texts:
    """Texts in the language of the person, or else of the browser."""
    if viewer is not None:
        return viewer.t
    return Texts(parts_of(request).texts, language_of(request.headers.get("accept-language", "")))


def _context(parts: ConsoleParts, request: Request, viewer: PageViewer | None) -> dict[str, Any]:
    texts = texts_of(request, viewer)
    brand = None if viewer is not None and viewer.lacks_brand else request.path_params.get("brand")
    query = f"?{request.url.query}" if request.url.query else ""
    path = request.scope["path"]
    names: Mapping[str, str] = {} if viewer is None else viewer.brands.by_slug
    entries = [] if viewer is None else [each for each in parts.navigation if viewer.may(each.scope)]
    of_installation = [each for each in entries if "{brand}" not in each.path]

    def is_current(address: str) -> bool:
        return path == address or (path.startswith(f"{address}/") and address != f"/b/{brand}")

    of_brand = [each for each in entries if "{brand}" in each.path] if brand else []
    of_operators = [each for each in of_installation if each.scope is Scope.OPERATE]
    once_id = _once_ids()
    return {
        "Scope": Scope,
        "asset": lambda name: parts.urls.path(parts.assets.path(name)),
        "brand": brand,
        "chain_url": lambda correlation_id: parts.urls.path(chain_path(correlation_id)),
        "brand_name": names.get(brand or "", brand),
        "name_of": lambda slug: names.get(slug, slug),
        "names_of": lambda slugs: ", ".join(sorted(names.get(each, each) for each in slugs)),
        "brand_navigation": [each for each in of_brand if not each.is_rare],
        "rare_navigation": [each for each in of_brand if each.is_rare],
        "is_current": is_current,
        "is_in_rare_navigation": any(
            is_current(each.path.replace("{brand}", str(brand))) for each in of_brand if each.is_rare
        ),
        # Of a chain's messages, some name no brand.
        "may_see_chains": viewer is not None and viewer.may_see_backbone,
        "installation": parts.settings.installation_name,
        "is_in_operators_navigation": any(path.startswith(each.path) for each in of_operators),
        "navigation": [each for each in of_installation if each not in of_operators],
        "operators_navigation": of_operators,
        "provider": parts.provider.name,
        "once_field": lambda: Markup(f'<input type="hidden" name="once" value="{once_id()}">'),  # noqa: S704
        "once_id": once_id,
        "path": path,
        "path_and_query": path + query,
        "t": texts,
        "time": texts.time,
        "url": parts.urls.path,
        "viewer": viewer,
    }


def _once_ids() -> Callable[[], str]:
    """Makes the ids in the hidden field that every form with a POST has. One random text serves a page: some have 500 forms."""
    page_id, numbers = secrets.token_urlsafe(12), count()
    # Neither has a character that HTML needs escaped.
    return lambda: f"{page_id}-{next(numbers)}"
