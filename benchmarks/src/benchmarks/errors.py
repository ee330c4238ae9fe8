"""What can go wrong with a measurement."""


class MeasurementError(RuntimeError):
    """No figure came of it; the message says why, and goes into the report in the figure's place."""
