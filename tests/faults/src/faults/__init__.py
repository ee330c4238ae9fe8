"""Breaks brokers, databases and processes under load, and judges from outside what became of every message."""
