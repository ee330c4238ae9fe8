"""Erasing a brand: everything of it, in every service, with a receipt from each."""

from orchestrator.erasure.accounts import GatewayErasure
from orchestrator.erasure.erasing import EVERYBODY, ErasureRetrier, erase_again, note_receipts
from orchestrator.erasure.routes import erasure_routes

__all__ = ["EVERYBODY", "ErasureRetrier", "GatewayErasure", "erase_again", "erasure_routes", "note_receipts"]
