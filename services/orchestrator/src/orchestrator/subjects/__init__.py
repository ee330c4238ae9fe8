"""One article for each subject: which keywords name the same one, who has it in hand, and who waits for that."""

from orchestrator.subjects.backfill import backfill_keys
from orchestrator.subjects.contents import KeywordOfContent, name_contents
from orchestrator.subjects.following import Candidate, settle, take_in_hand
from orchestrator.subjects.keying import key_articles, load_names
from orchestrator.subjects.keys import SubjectKey
from orchestrator.subjects.rekeying import rekey_articles_of
from orchestrator.subjects.routes import subject_routes

__all__ = [
    "Candidate",
    "KeywordOfContent",
    "SubjectKey",
    "backfill_keys",
    "key_articles",
    "load_names",
    "name_contents",
    "rekey_articles_of",
    "settle",
    "subject_routes",
    "take_in_hand",
]
