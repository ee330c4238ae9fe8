"""The writer that uses a language model; it keeps only sentences that the sources support."""
