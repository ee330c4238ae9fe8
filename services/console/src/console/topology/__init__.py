"""The picture of exchanges and queues with live figures, for operators."""
