"""One article for each subject: which keywords name the same one, who has it in hand, and who waits for that."""

from orchestrator.subjects.domain import SubjectKey, key_of
from orchestrator.subjects.following import Candidate, settle, take_in_hand
from orchestrator.subjects.store import key_articles

__all__ = ["Candidate", "SubjectKey", "key_articles", "key_of", "settle", "take_in_hand"]
