"""All pages by the names of their files."""

from pathlib import Path
from tempfile import TemporaryDirectory

from client.generator import application_of
from envelope.brand import DEPLOYED
from reference_pages.http_page import http_page
from reference_pages.limits_page import limits_page
from reference_pages.refusal_codes import codes_of
from reference_pages.settings_page import settings_page


def pages() -> dict[str, str]:
    """Returns the text of each page of docs/reference that is made from services."""
    with TemporaryDirectory() as empty:
        applications = {service: application_of(service, Path(empty)) for service in DEPLOYED}
        documents = {service: each.openapi() for service, each in applications.items()}
        codes = {service: codes_of(each) for service, each in applications.items()}
    return {
        "settings.md": settings_page(),
        "http.md": http_page(documents, codes),
        "limits.md": limits_page(documents),
    }
