"""The page that follows a sign-in."""

from starlette.requests import Request
from starlette.responses import Response

from console.pages import Form, page, redirect
from console.pages.signed_out import UnsentForm
from console.people.domain import Person
from console.urls import HOME, safe_next


def go_on(request: Request, form: Form, person: Person) -> Response:
    """Redirects to the page that the sign-in form names, or shows the form that was sent after the session had ended."""
    unsent = UnsentForm.read(form)
    if unsent is None:
        return redirect(request, safe_next(form.text("next", HOME)))
    return page(request, None, "sign_in/send_again.html.j2", unsent=unsent, name=person.name)
