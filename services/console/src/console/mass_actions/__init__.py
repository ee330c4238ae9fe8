"""Actions on many things of a list: on the checked ones, or on all that its filter matches when a button is pressed."""
