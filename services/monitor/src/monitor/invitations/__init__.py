"""Mails invitations to the console. Nothing of a mail is kept: neither the address nor the link."""

from monitor.invitations.routes import invitation_routes

__all__ = ["invitation_routes"]
