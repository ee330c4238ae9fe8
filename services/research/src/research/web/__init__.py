"""The web as a brand's source: what is asked of the gateway, which pages are read, and what of them may be used."""
