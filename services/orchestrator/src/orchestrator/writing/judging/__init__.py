"""Judges a finished article: its measures, and its likeness to the brand's other articles."""

from orchestrator.writing.judging.judging import (
    JudgedArticle,
    compare_with_newcomers,
    judge_article,
    measure_edited,
)
from orchestrator.writing.judging.siblings import SiblingArticle, SiblingArticles, load_bodies, load_siblings

__all__ = [
    "JudgedArticle",
    "SiblingArticle",
    "SiblingArticles",
    "compare_with_newcomers",
    "judge_article",
    "load_bodies",
    "load_siblings",
    "measure_edited",
]
