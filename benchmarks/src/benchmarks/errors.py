"""Errors of measurements."""


class MeasurementError(RuntimeError):
    """A measurement has no figure; the report shows the message in its place."""
