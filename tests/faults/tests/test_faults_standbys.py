"""What is demanded after a standby took over can fail: losses that it does not explain, and an old primary with work."""

from datetime import UTC, datetime, timedelta

import pytest

from faults.judging.observation import HandlerEffect
from faults.scenarios.standbys import judge_loss, judge_old_primary
from messaging.storage.server_history import CommitLoss

CUT = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TOLD = CommitLoss(kept_until=CUT, noticed_at=CUT + 9 * SECOND)


def effect(command: str, written_at: datetime) -> HandlerEffect:
    return HandlerEffect(command, None, "brand", 1, "worker", written_at, written_at)


def found(lost: set[str], gone: list[HandlerEffect], loss: CommitLoss | None) -> list[str]:
    return [each.detail for each in judge_loss(lost, gone, loss)]


def test_a_loss_that_the_standby_never_had_and_that_is_told_is_allowed() -> None:
    assert found({"late"}, [effect("late", CUT + SECOND)], TOLD) == []
    # It was delivered once more, and is there again.
    assert found(set(), [effect("late", CUT + SECOND)], TOLD) == []
    assert found(set(), [], None) == []


@pytest.mark.parametrize(
    ("lost", "gone", "loss", "said"),
    [
        ({"a", "late"}, [effect("late", CUT + SECOND)], TOLD, "although the standby had it: 1 (a"),
        ({"a"}, [], None, "although the standby had it"),
        ({"late"}, [effect("late", CUT + SECOND)], None, "nobody is told"),
        ({"early"}, [effect("early", CUT - SECOND)], TOLD, "when all was there"),
    ],
)
def test_any_other_loss_is_found(
    lost: set[str], gone: list[HandlerEffect], loss: CommitLoss | None, said: str
) -> None:
    (told,) = found(lost, gone, loss)
    assert said in told


def test_an_old_primary_that_takes_writes_is_found() -> None:
    assert not list(judge_old_primary(refuses=True))
    assert len(list(judge_old_primary(refuses=False))) == 1
