"""The measured systems: our worker and other libraries' programs with one protocol, and the five real services."""
