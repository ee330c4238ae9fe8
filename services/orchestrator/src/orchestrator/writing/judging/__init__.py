"""Judges a finished article: its measures, and its likeness to the brand's other articles."""

from orchestrator.writing.judging.judging import JudgedArticle, judge, judge_again, measure_edited
from orchestrator.writing.judging.others import SiblingArticle, SiblingArticles, bodies_of, others_of

__all__ = [
    "JudgedArticle",
    "SiblingArticle",
    "SiblingArticles",
    "bodies_of",
    "judge",
    "judge_again",
    "measure_edited",
    "others_of",
]
