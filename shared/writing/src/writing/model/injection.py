"""Finds instructions to a model inside sources, so that such passages are used neither as material nor as evidence. Pure.

The list does not cover every wording. Other protections do not depend on it: the model has no tools, writes neither
addresses nor markup, and only sentences that passages support are published.
"""

import re
from typing import Final

from writing.model.claims.wording import normal

_MODELS = r"(?:ai|a\.i\.|llms?|language models?|chat ?bots?|assistants?|chatgpt|gpt|claude|copilot|gemini|summari[sz]ers?)"
_ORDERS = r"(?:instructions?|prompts?|rules?|guidelines?|directives?|commands?|messages?|context)"

FORMS: Final = {
    "ignore": rf"\b(?:ignore|disregard|forget|override|overlook)\b[^.]{{0,60}}\b(?:previous|prior|above|earlier|preceding|all|any|your|system)\b[^.]{{0,40}}\b{_ORDERS}\b",
    "new instructions": rf"\b(?:new|updated|real|actual|important|secret) (?:system )?{_ORDERS}\s*:",
    "role": r"(?:^|[\s>\"'(\[])(?:system|assistant|developer)\s*(?:prompt|message)?\s*:\s",
    "chat markup": r"<\|[\w ]+\|>|<\|?/?(?:im_start|im_end|system|assistant)\|?>|\[/?INST\]|<</?SYS>>|#{2,}\s*(?:system|instructions?|response)\b",
    "new person": rf"\b(?:you are now|from now on,? you|pretend (?:to be|you)|act as (?:an? |the )?(?:{_MODELS}|dan|administrator|developer|system)|roleplay as)\b",
    "to models": rf"\b(?:note|message|attention|instructions?|warning|notice|hint|memo)\s+(?:to|for)\s+(?:all |any |every |the )?(?:\w+ )?{_MODELS}\b|\b(?:dear|hey|hello) {_MODELS}\b",
    "if you are": rf"\b(?:if|when|as) you(?: are|'re)? (?:an? |the )?(?:\w+ )?{_MODELS}\b|\bas an? (?:ai|large) language model\b",
    "secrecy": r"\b(?:do not|don't|never) (?:tell|inform|mention|reveal|disclose|show|say)\b[^.]{0,40}\b(?:the )?(?:users?|readers?|humans?|this (?:instruction|message|prompt|text)|anyone)\b",
    "answer form": r"\b(?:respond|reply|answer|output|print|return)\b[^.]{0,20}\b(?:only|exactly|nothing but|verbatim|the (?:word|phrase|following))\b",
    "while writing": r"\b(?:when|while|before|if) (?:you(?:'re| are)? )?(?:writing|summari[sz]ing|summari[sz]e|answering|generating|processing|reading|citing|write)\b[^.]{0,40}\b(?:this|the|an?|your)\b[^.]{0,60}\b(?:always|must|include|mention|recommend|add|insert|say|link|praise|state|write)\b",
    "in your answer": r"\b(?:include|insert|add|mention|recommend|link|append|promote|praise)\b[^.]{0,80}\bin your (?:answer|article|response|summary|output|reply|text)\b",
    "leak": r"\b(?:reveal|print|repeat|output|show|leak|send)\b[^.]{0,40}\b(?:system prompt|initial prompt|hidden prompt|your (?:prompt|instructions)|api keys?|service key|environment variables)\b",
    "encoded": r"\b(?:decode|base64|rot13|decrypt)\b[^.]{0,60}\b(?:follow|execute|obey|run|and do)\b|\b[A-Za-z0-9+/]{80,}={0,2}",
    "bounds": r"\b(?:begin|start|end) (?:of )?(?:system|hidden|secret|new|user|admin) ?(?:prompt|message|instructions?|input|data)\b|-{3,}\s*end of (?:sources?|data|document|passages?)",
    "other tongues": r"\b(?:ignorier\w*|vergiss|missachte)\b[^.]{0,60}\b(?:anweisung\w*|befehl\w*|vorgaben)\b|\bignor(?:ez|a|e|ar|ate)\b[^.]{0,60}\b(?:instruc\w+|istruzion\w+)\b|忽略[^。]{0,20}指令",
    "to judges": r"\b(?:mark|rate|treat|label|accept|confirm|classify|judge|grade|consider)\b[^.]{0,20}\b(?:all|every|each|any|these|this|the)\b[^.]{0,30}\b(?:sentences?|claims?|statements?)\b[^.]{0,30}\b(?:supported|confirmed|true|correct|valid)\b|\b(?:answer|respond|reply|verdict|finding)\W{1,4}(?:with |is |as )?\W{0,2}supported\b",
    "jailbreak": r"\b(?:jailbreak|developer mode|god mode|dan mode|do anything now)\b",
}
"""Known forms of instructions, by the names that logs show."""

_PATTERNS: Final = {name: re.compile(form, re.IGNORECASE) for name, form in FORMS.items()}


def find_instruction(text: str) -> str | None:
    """Returns the name of the first form of instruction in the text; None if it has none."""
    readable = normal(text)
    return next((name for name, pattern in _PATTERNS.items() if pattern.search(readable)), None)
