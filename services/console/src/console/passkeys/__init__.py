"""Passkeys: signing in without a password."""
