"""Traces of chains, from Jaeger."""
