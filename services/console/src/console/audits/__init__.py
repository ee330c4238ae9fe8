"""Audits of a brand: what needs attention, and what a press of a button mends."""
