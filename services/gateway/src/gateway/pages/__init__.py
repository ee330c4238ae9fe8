"""Pages of the web, read as a polite visitor reads them, and kept for as long as they are good."""

from gateway.pages.cleaning import Cleaning
from gateway.pages.reader import Manners, Reader
from gateway.pages.robots import robot
from gateway.pages.routes import page_routes
from gateway.pages.store import counted

__all__ = ["Cleaning", "Manners", "Reader", "counted", "page_routes", "robot"]
