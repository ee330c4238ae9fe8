"""What the orchestrator is asked and told."""

from brandctl.orchestrator.audits import app as audits_app
from brandctl.orchestrator.brand_erasure import erase
from brandctl.orchestrator.brand_export import export
from brandctl.orchestrator.brands import app as brands_app
from brandctl.orchestrator.content import app as content_app
from brandctl.orchestrator.cycles import app as cycles_app
from brandctl.orchestrator.drafts import app as drafts_app
from brandctl.orchestrator.keys import app as keys_app
from brandctl.orchestrator.schedules import app as schedules_app
from brandctl.orchestrator.submitting import submit
from brandctl.orchestrator.watching import watch
from brandctl.orchestrator.workflows import app as workflows_app

brands_app.command()(erase)
brands_app.command()(export)

__all__ = [
    "audits_app",
    "brands_app",
    "content_app",
    "cycles_app",
    "drafts_app",
    "keys_app",
    "schedules_app",
    "submit",
    "watch",
    "workflows_app",
]
