"""The tables of the library in the service's own database, and their SQL."""
