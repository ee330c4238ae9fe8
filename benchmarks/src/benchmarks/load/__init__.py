"""The load on every system: files of messages, and a feeder with a fixed schedule."""
