"""Notification routes of the installation: which news goes where, each with a test."""
