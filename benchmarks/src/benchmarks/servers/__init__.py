"""The broker and the database of a run, and looks at them from outside."""
