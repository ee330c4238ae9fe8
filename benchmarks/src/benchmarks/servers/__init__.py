"""The broker and the database of a run, and clients that inspect them."""
