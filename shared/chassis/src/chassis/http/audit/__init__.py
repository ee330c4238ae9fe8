"""The audit log: every change over an API is a row in the same transaction.

`recording` is the middleware that writes them, `log` has the SQL, `routes` shows them and adds the log to an application.
"""
