"""Private RabbitMQ and PostgreSQL nodes in a folder, and the processes around them.

Nothing here touches an instance of the system: every node has its own data folder, ports, credentials and, for
RabbitMQ, its own name server. Linux only.
"""
