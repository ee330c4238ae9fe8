"""Throughput, times and dead letters of a week, for operators, without Prometheus."""
