"""Examines the models that judge, and tells which articles may be published on their word.

The examiner itself is loaded where there is a model, from `orchestrator.judge_exams.examiner`.
"""

from orchestrator.judge_exams.approval import PassedJudges, find_standings, judge_reasons, load_passed_judges
from orchestrator.judge_exams.domain import ExamPlan
from orchestrator.judge_exams.routes import judge_routes

__all__ = [
    "ExamPlan",
    "PassedJudges",
    "find_standings",
    "judge_reasons",
    "judge_routes",
    "load_passed_judges",
]
