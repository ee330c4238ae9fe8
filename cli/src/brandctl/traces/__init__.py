"""Traces of chains, as Jaeger has them."""
