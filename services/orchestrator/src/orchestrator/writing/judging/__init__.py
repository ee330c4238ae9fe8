"""What a finished article is held against before it may be published: its measures, and the brand's other articles."""

from orchestrator.writing.judging.judging import Judged, judge, judge_again, measure_edited
from orchestrator.writing.judging.others import Other, Others, bodies_of, others_of

__all__ = ["Judged", "Other", "Others", "bodies_of", "judge", "judge_again", "measure_edited", "others_of"]
