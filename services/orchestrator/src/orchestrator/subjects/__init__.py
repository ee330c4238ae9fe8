"""Gives a brand one article per subject: finds keywords of the same meaning, and lets all but one wait for that one."""

from orchestrator.subjects.backfill import backfill_keys
from orchestrator.subjects.contents import KeywordOfContent, name_contents
from orchestrator.subjects.followers import Candidate, claim_subjects, settle_followers
from orchestrator.subjects.keys import SubjectKey
from orchestrator.subjects.rekeying import rekey_articles_of
from orchestrator.subjects.routes import subject_routes
from orchestrator.subjects.stored_keys import key_articles, load_names

__all__ = [
    "Candidate",
    "KeywordOfContent",
    "SubjectKey",
    "backfill_keys",
    "claim_subjects",
    "key_articles",
    "load_names",
    "name_contents",
    "rekey_articles_of",
    "settle_followers",
    "subject_routes",
]
