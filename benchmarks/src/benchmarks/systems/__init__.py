"""What is measured: ours and other libraries' programs, in one protocol, and the five real services."""
