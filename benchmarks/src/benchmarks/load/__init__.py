"""What every system is given to do: files of messages, and a feeder that keeps to a schedule."""
