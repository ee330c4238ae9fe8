"""Text as a reader sees it: invisible characters out, and passages that try to give orders flagged. Pure."""

import re
import unicodedata

# Zero-width and bidirectional controls, soft hyphens, and the Unicode "tag" block can carry words that only a
# machine reads.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U000e0000-\U000e0fff]"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
# As many marks on one letter as any script needs (Unicode's Stream-Safe Text Format, UAX 15). Putting marks in their
# order takes the square of their number.
MAX_MARKS = 30
_PERHAPS_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{MAX_MARKS + 1},}}")

# Wording addressed to a language model rather than to a reader. A match is recorded, not removed: the extractive
# composer obeys nobody, but a reviewer should see it.
_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|your)\b.{0,40}"
    r"\b(?:instructions?|prompts?|rules|directions|guidelines)\b"
    r"|\b(?:system|developer) prompt\b"
    r"|\byou are (?:now|an?) (?:\w+ )?(?:ai|assistant|language model|chatbot|llm)\b"
    r"|\b(?:reveal|print|repeat|leak)\b.{0,30}\b(?:system prompt|api keys?|your instructions|passwords?)\b"
    r"|<\|?(?:im_start|im_end|system|assistant)\|?>|\[/?INST\]"
    r"|\bas an ai (?:language )?model\b|\bdo not (?:tell|inform) the (?:user|reader)\b",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """`text` without characters that cannot be seen or stored, Unicode-composed; line breaks are kept.

    Of the marks on one letter the first 30 are kept.
    """
    seen = _CONTROL.sub("", _INVISIBLE.sub("", text))
    return unicodedata.normalize("NFC", _PERHAPS_MARKS.sub(_with_few_marks, seen))


def _with_few_marks(match: re.Match[str]) -> str:
    kept = []
    marks = 0
    for character in match[0]:
        # Some characters are marks only once they are taken apart.
        last = unicodedata.normalize("NFD", character)[-1]
        marks = marks + 1 if unicodedata.combining(last) else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def one_line(text: str) -> str:
    return _SPACES.sub(" ", visible(text)).strip()


def flags_of(text: str) -> tuple[str, ...]:
    return ("prompt_injection",) if _INJECTION.search(text) else ()
