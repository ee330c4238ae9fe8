"""Behaviours of a probe. The message's keyword names one: `behaviour number`, such as `fail:2 17`."""

from dataclasses import dataclass
from typing import Final

from messaging.headers import Reason

MEANINGS: Final = {
    "ok": "takes effect at once",
    "slow": "slow:s waits so many seconds, then takes effect",
    "block": "block:s holds up the whole process for so many seconds, then takes effect",
    "fail": "fail:n asks to try again n times, then takes effect",
    "needs": "asks the service of `needs_url` first; takes effect once that answers",
    "poison": "raises at every attempt, which also breaks the batch it is in",
    "hungry": "needs more memory than there is and gets a MemoryError: fails like poison",
    "hang": "never returns; the handler's deadline ends it",
    "refuse": "says that no attempt can succeed",
    "crash": "ends its consumer by SIGKILL",
    "oom": "ends its consumer by running out of memory in native code",
}
"""Behaviour → what happens."""

EFFECT: Final = "effect"
ANY: Final = "any"
_FATAL: Final = {"crash": Reason.CRASHED_CONSUMER, "oom": Reason.CRASHED_CONSUMER, "refuse": Reason.PERMANENT}
_ALWAYS_FAIL: Final = ("poison", "hungry", "hang")


class BehaviourError(ValueError):
    """The behaviour is unknown; the message lists the known ones."""


@dataclass(frozen=True, slots=True)
class ProbeBehaviour:
    name: str
    amount: float = 0.0
    """Seconds, or attempts, by behaviour."""

    def expected_end(self, max_attempts: int) -> str:
        """`effect`, or the reason of the dead letter that it must become."""
        if self.name in _FATAL:
            return _FATAL[self.name].value
        failing = self.name in _ALWAYS_FAIL or (self.name == "fail" and self.amount >= max_attempts)
        return Reason.EXHAUSTED.value if failing else EFFECT

    def allowed_attempts(self, max_attempts: int) -> int:
        """The attempts that may be counted; a message that does not fail gets one."""
        if self.name in _ALWAYS_FAIL:
            return max_attempts
        return min(int(self.amount) + 1, max_attempts) if self.name == "fail" else 1


def parse(keyword: str) -> ProbeBehaviour:
    """The behaviour that a keyword names.

    Raises:
        BehaviourError: it names none.
    """
    word, _, _ = keyword.partition(" ")
    name, _, amount = word.partition(":")
    if name not in MEANINGS:
        raise BehaviourError(f"{word!r} is no behaviour: {', '.join(MEANINGS)}")
    return ProbeBehaviour(name, float(amount or 0))
