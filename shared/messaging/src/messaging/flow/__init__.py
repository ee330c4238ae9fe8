"""What becomes of messages in this process: taken in, handled, settled in one transaction, sent on."""
