"""The audit log: every change that is made over an API is a row of the same transaction.

`recording` notes them, around the routes; `log` keeps them; `routes` shows them, and has an application keep a log.
"""
