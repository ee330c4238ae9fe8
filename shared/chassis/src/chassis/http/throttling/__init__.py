"""Slows callers down: addresses that send wrong keys, and keys with a used-up quota."""
