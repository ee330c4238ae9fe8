"""Moves of brands to other installations: how far each is, and what a brand still does here."""

from orchestrator.brand_moves.routes import move_routes

__all__ = ["move_routes"]
