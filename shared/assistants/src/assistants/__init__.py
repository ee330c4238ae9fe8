"""What assistants may ask and do, as tools of the Model Context Protocol. See docs/assistants.md."""

from assistants.server import Connect, Services, assistant_server

__all__ = ["Connect", "Services", "assistant_server"]
