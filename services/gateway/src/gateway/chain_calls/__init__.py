"""Chains at the gateway: the calls that were made for each, and what those with a limit have spent."""

from gateway.chain_calls.recorder import ChainRecorder
from gateway.chain_calls.store import ChainCall, ChainTotals

__all__ = ["ChainCall", "ChainRecorder", "ChainTotals"]
