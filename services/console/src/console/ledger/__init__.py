"""What became of all messages that services have sent, for operators."""
