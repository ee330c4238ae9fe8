"""A brand's newsletter: on or off, who subscribes, and what became of the last letters."""
