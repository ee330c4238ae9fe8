"""Decisions about receipts: a person's about one in doubt, and giving up."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from receipts.domain.receipt import Receipt, ReceiptState, StepTraits, finish_step, mark_in_doubt


class ReceiptDecidedError(Exception):
    """The receipt is not in doubt, or no longer; the message has its state."""


def confirm(receipt: Receipt, remote: Mapping[str, Any]) -> Receipt:
    """Completes the step in doubt, because a person has seen its effect.

    Raises:
        ReceiptDecidedError: it is not in doubt.
    """
    _in_doubt(receipt)
    return finish_step(receipt, remote)


def repeat(receipt: Receipt) -> Receipt:
    """Makes the step in doubt ready to be sent again, because a person has seen that it had no effect.

    Raises:
        ReceiptDecidedError: it is not in doubt.
    """
    _in_doubt(receipt)
    return replace(receipt, state=ReceiptState.READY, reason="", detail="", identity=None, unanswered=None)


def give_up(receipt: Receipt, steps: Sequence[StepTraits]) -> Receipt | None:
    """Puts a receipt in doubt after the last attempt, if people may see an effect of its current step; else None."""
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
