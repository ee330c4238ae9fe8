"""The doctor: live probes of the broker and the database, each with what it found and what to do."""

from messaging.doctor.doctor import Doctor, Report
from messaging.doctor.findings import Finding, Status

__all__ = ["Doctor", "Finding", "Report", "Status"]
