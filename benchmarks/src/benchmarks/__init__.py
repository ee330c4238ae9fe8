"""Measures throughput and latency beside other libraries, at equal guarantees."""
