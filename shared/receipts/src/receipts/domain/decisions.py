"""What a person decides about a receipt in doubt, and that nobody tries any more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from receipts.domain.receipt import Receipt, ReceiptState, StepTraits, finish_step, mark_in_doubt


class ReceiptDecidedError(Exception):
    """It is not in doubt (any more); says what it is."""


def confirm(receipt: Receipt, remote: Mapping[str, Any]) -> Receipt:
    """The step in doubt has had its effect, says a person who has seen it.

    Raises:
        DecidedOtherwiseError: it is not in doubt.
    """
    _in_doubt(receipt)
    return finish_step(receipt, remote)


def repeat(receipt: Receipt) -> Receipt:
    """The step in doubt has had none, says a person who has looked: it is sent again.

    Raises:
        DecidedOtherwiseError: it is not in doubt.
    """
    _in_doubt(receipt)
    return replace(receipt, state=ReceiptState.READY, reason="", detail="", identity=None, unanswered=None)


def give_up(receipt: Receipt, steps: Sequence[StepTraits]) -> Receipt | None:
    """Nobody tries any more. In doubt if something of the step at hand may be there that people see; else None."""
    step = next((step for step in steps if step.name == receipt.step), None)
    if step is None or step.unseen:
        return None
    is_open = receipt.state in {ReceiptState.ARMED, ReceiptState.UNKNOWN}
    if is_open or (receipt.state is ReceiptState.READY and receipt.unanswered == step.name):
        return mark_in_doubt(
            receipt, f"it was tried as often as may be, and never answered: {receipt.detail}"
        )
    return None


def _in_doubt(receipt: Receipt) -> None:
    if receipt.state is not ReceiptState.IN_DOUBT:
        raise ReceiptDecidedError(f"{receipt.subject} is not in doubt: it is {receipt.state.value}")
