"""The HTTP API for the other services: what they may ask of the outside."""

from typing import Final

from fastapi import FastAPI

from chassis.http.api import api
from chassis.http.guard import Authorise

DESCRIPTION: Final = "The one door to the outside, for the services of this system alone."


def create_api(authorise: Authorise) -> FastAPI:
    """The application; each room's routes are included here."""
    return api("Brand Engine: gateway", authorise, description=DESCRIPTION)
