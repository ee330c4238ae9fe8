"""The connections to RabbitMQ: one that consumes, one that publishes."""
