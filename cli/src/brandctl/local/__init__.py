"""Private RabbitMQ and PostgreSQL nodes in a folder, and the processes around them.

This package touches no system instance: every node has its own data folder, ports, credentials and, for
RabbitMQ, its own name server. Linux only.
"""
