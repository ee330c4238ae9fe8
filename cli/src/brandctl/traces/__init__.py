"""Traces of chains, as Jaeger has them."""

from brandctl.traces.command import trace

__all__ = ["trace"]
