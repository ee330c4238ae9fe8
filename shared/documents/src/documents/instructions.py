"""Finds text that speaks to a model, a judge or an assistant instead of readers, in a dozen languages. Pure.

Research flags such paragraphs, the digest does not quote them, and a model sees none of them. The list does not cover every
wording. Other protections do not depend on it: the model has no tools, writes neither addresses nor markup, and only sentences
that passages support are published.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_MODELS: Final = (
    r"(?:a\.?i\.?|llms?|(?:large )?language models?|chat ?bots?|(?:(?:ai|digital|virtual|personal|smart|reader'?s|readers'|user'?s|users') )?"
    r"assistants?|chatgpt|gpt|claude|copilot|gemini|summari[sz]ers?)"
)
_MACHINES: Final = r"(?:(?:ai|automated|automatic|digital|virtual) (?:assistants?|agents?|systems?|tools?|readers?|models?|writers?))"
_ORDERS: Final = r"(?:instructions?|prompts?|rules?|directions|guidelines?|directives?)"
_MODEL_WORDS: Final = "language model|assistant|llm|ai|a.i|chatbot|chat bot|gpt|copilot|claude|gemini|summari"
_ENGLISH: Final = {  # by name: words, one of which is in every text that the pattern matches, and the pattern
    "ignore": (
        "ignore|disregard|forget|override|overlook",
        rf"\b(?:ignore|disregard|forget|override|overlook)\b[^.]{{0,60}}\b(?:previous|prior|above|earlier|preceding|all|any|your|system)\b[^.]{{0,20}}\b{_ORDERS}\b",
    ),
    "new instructions": (
        "instruction|prompt|directive|rule",
        r"\b(?:new|updated|real|actual|important|secret) (?:system )?(?:instructions?|prompts?|directives?|rules?) ?:",
    ),
    "role": (
        "system:|assistant:|developer:|prompt:|message:",
        r"(?:^|[ >\"'(\[])(?:system|assistant|developer)(?: ?(?:prompt|message))?: ",
    ),
    "chat markup": (
        "<|<system|<assistant|<im_|inst]|<<sys|<</sys|##",
        r"<\|[\w ]+\|>|<\|?/?(?:im_start|im_end|system|assistant)\|?>|\[/?inst\]|<</?sys>>|#{2,} ?(?:system|instructions?|response) ?:",
    ),
    "new person": (
        "you are now|you are a|from now on|pretend|act as|roleplay",
        rf"\b(?:you are now (?:an?|the|in|called|named|free)\b|you are an? (?:\w+ )?{_MODELS}\b|from now on,? you\b|pretend (?:to be|you are|you're)\b|act as (?:an? |the )?(?:{_MODELS}|dan|administrator|developer|system)\b|roleplay as\b)",
    ),
    "to models": (
        _MODEL_WORDS,
        rf"\b(?:note|message|attention|instructions?|warning|notice|hint|memo) (?:to|for) (?:all |any |every |the )?(?:\w+ )?{_MODELS}\b|\b(?:dear|hey|hello) {_MODELS}\b",
    ),
    "to machines": (
        "automat|digital|virtual|ai|summar|article|answer|text|post",
        (
            rf"\b{_MACHINES}\b[^.]{{0,40}}\b(?:must|shall|please|(?:are|is) (?:asked|required|instructed|told) to)\b"
            r"|\b(?:any|every|each|all) (?:summar(?:y|ies)|articles?|answers?|texts?|posts?) (?:of|about|on|from|based on|drawn from) (?:this|these)\b[^.]{0,40}\b(?:must|should|shall|has to|have to)\b"
        ),
    ),
    "if you are": (
        f"{_MODEL_WORDS}|helping",
        rf"\b(?:if|when|as) you(?: are|'re)? (?:helping (?:the|a) reader|(?:an? |the )?(?:\w+ )?{_MODELS})\b|\bas an? (?:ai|large) language model\b",
    ),
    "secrecy": (
        "the user|the reader|human|this instruction|this message|this prompt|this text",
        r"\b(?:do not|don't|never) (?:tell|inform|mention|reveal|disclose|show)\b[^.]{0,40}\b(?:the users?|the readers?|humans?|this (?:instruction|message|prompt|text))\b",
    ),
    "answer form": (
        "respond|reply|answer|output|print|return",
        r"\b(?:respond|reply|answer|output|print|return)\b (?:with |in )?(?:only|exactly|nothing but|verbatim)\b[^.]{0,20}\b(?:words?|phrase|sentence|json|yes|no)\b",
    ),
    "while writing": (
        "recommend|mention|praise|always|include",
        r"\b(?:when|while|before|if) (?:you(?:'re| are)? )?(?:writing|summari[sz]ing|summari[sz]e|answering|generating|processing|reading|citing|write)\b[^.]{0,40}\b(?:this|the|an?|your)\b[^.]{0,60}\b(?:always|include|mention|recommend|praise)\b",
    ),
    "in your answer": (
        "in your",
        r"\b(?:include|insert|add|mention|recommend|link|append|promote|praise)\b[^.]{0,80}\bin your (?:answer|article|summary|output|text)\b",
    ),
    "leak": (
        "prompt|instructions|api key|service key|password",
        r"\b(?:reveal|print|repeat|output|show|leak|send)\b[^.]{0,40}\b(?:system prompt|initial prompt|hidden prompt|your instructions|api keys?|service key)\b|\b(?:reveal|repeat|leak)\b[^.]{0,30}\b(?:your prompt|passwords?)\b|\b(?:system|developer) prompt\b",
    ),
    "encoded": (
        "decode|base64|rot13|decrypt",
        r"\b(?:decode|base64|rot13|decrypt)\b[^.]{0,60}\b(?:follow|execute|obey|and do)\b",
    ),
    "bounds": (
        "prompt|message|instruction|-- end of|--end of",
        r"\b(?:begin|start|end) (?:of )?(?:system|hidden|secret|new|admin) ?(?:prompt|message|instructions?)\b|-{3,} ?end of (?:sources?|data|document|passages?)",
    ),
    "to judges": (
        "sentence|claim|statement|supported",
        r"\b(?:mark|rate|treat|label|accept|confirm|classify|judge|grade|consider)\b[^.]{0,20}\b(?:all|every|each|any|these|this|the)\b[^.]{0,30}\b(?:sentences?|claims?|statements?)\b[^.]{0,30}\b(?:supported|confirmed|true|correct|valid)\b|\b(?:answer|respond|reply|verdict|finding)\W{1,4}(?:with |is |as )?\W{0,2}supported\b",
    ),
    "jailbreak": (
        "jailbreak|developer mode|god mode|dan mode|do anything now",
        r"\b(?:jailbreak|developer mode|god mode|dan mode|do anything now)\b",
    ),
}
_OTHERS: Final = {  # by language: words and pattern of "ignore", and of what addresses models
    "de": (
        "anweisung|befehl|vorgaben|regeln",
        r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\b[^.]{0,60}\b(?:anweisung\w*|befehl\w*|vorgaben|regeln)\b",
        " du |hinweis|nachricht|anweisung|in deine|alle sätze|alle aussagen",
        r"\b(?:wenn|falls) du (?:ein\w* )?(?:ki|sprachmodell|assistent|chatbot)\b|\b(?:hinweis|nachricht|anweisung) (?:an|für) (?:alle |die |den )?(?:ki\b|ki-|sprachmodell|assistent|chatbot)|\bin deine[rmn] (?:antwort|artikel|zusammenfassung|text)\b|\balle (?:sätze|aussagen) als (?:belegt|wahr|gestützt)\b",
    ),
    "fr": (
        "instruction|consigne|règles",
        r"\b(?:ignore[zr]?|oublie[zr]?)\b[^.]{0,60}\b(?:instructions?|consignes?|règles)\b",
        "si tu es|si vous êtes|note|message|instruction|dans ta|dans votre|toutes les",
        r"\bsi (?:tu es|vous êtes) (?:un|une) (?:ia|modèle de langage|assistant|intelligence)|\b(?:note|message|instruction)s? (?:à|aux|pour) (?:l['’]|les |tous les |toutes les )?(?:ia|modèles? de langage|assistants?)\b|\bdans (?:ta|votre) (?:réponse|article|résumé)\b|\btoutes les (?:phrases|affirmations) comme (?:vraies|confirmées)\b",
    ),
    "es": (
        "instrucciones|órdenes|reglas",
        r"\b(?:ignor[ae]n?|olvid[ae]n?)\b[^.]{0,60}\b(?:instrucciones|órdenes|reglas)\b",
        "si eres|nota|mensaje|aviso|en tu|todas las",
        r"\bsi eres (?:un|una) (?:ia|modelo de lenguaje|asistente|inteligencia)|\b(?:nota|mensaje|aviso) (?:a|para) (?:los |las |todos los |todas las )?(?:ia\b|modelos? de lenguaje|asistentes?)|\ben tu (?:respuesta|artículo|resumen)\b|\btodas las (?:frases|afirmaciones) como (?:verdaderas|confirmadas)\b",
    ),
    "it": (
        "istruzioni|regole",
        r"\b(?:ignora(?:re|te)?|dimentica(?:re|te)?)\b[^.]{0,60}\b(?:istruzioni|regole)\b",
        "se sei|nota|messaggio|avviso|nella tua|tutte le",
        r"\bse sei (?:un|una|un') ?(?:ia|modello linguistico|assistente|intelligenza)|\b(?:nota|messaggio|avviso) (?:a|per|agli|ai) (?:tutti (?:gli|i) )?(?:ia\b|modelli linguistici|assistenti)|\bnella tua (?:risposta|sintesi)\b|\btutte le (?:frasi|affermazioni) come (?:vere|confermate)\b",
    ),
    "pt": (
        "instruções|regras",
        r"\b(?:ignor[ea]m?|esqueç?[ac]m?)\b[^.]{0,60}\b(?:instruções|regras)\b",
        "se você|se és|nota|mensagem|aviso|na sua|no seu",
        r"\bse (?:você é|és) (?:um|uma) (?:ia|modelo de linguagem|assistente)|\b(?:nota|mensagem|aviso) (?:a|para|aos|às) (?:todos os |os )?(?:ia\b|modelos? de linguagem|assistentes?)|\bna sua (?:resposta|síntese)\b|\bno seu (?:artigo|resumo)\b",
    ),
    "nl": (
        "instructies|opdrachten|regels",
        r"\b(?:negeer|vergeet)\b[^.]{0,60}\b(?:instructies|opdrachten|regels)\b",
        "als je|als jij|als u|bericht|opmerking|instructie|in je |in jouw|in uw ",
        r"\bals (?:je|jij|u) een (?:ai|taalmodel|assistent|chatbot)|\b(?:bericht|opmerking|instructie) (?:aan|voor) (?:alle |de )?(?:ai|taalmodel|assistent)|\bin (?:je|jouw|uw) (?:antwoord|artikel|samenvatting)\b",
    ),
    "pl": (
        "instrukcj|polece|zasad",
        r"\b(?:zignoruj\w*|ignoruj\w*|zapomnij\w*)\b[^.]{0,60}\b(?:instrukcj\w*|polece\w*|zasad\w*)\b",
        "jeśli jesteś|uwaga|wiadomość|w swoje",
        r"\bjeśli jesteś (?:modelem językowym|asystentem|sztuczną|ai\b)|\b(?:uwaga|wiadomość) dla (?:modeli|asystent\w*|ai\b)|\bw swoje[jm] (?:odpowiedzi|artykule|streszczeniu)\b",
    ),
    "ru": (
        "игнорируй|забудь",
        r"(?:игнорируй\w*|проигнорируй\w*|забудь\w*)[^.]{0,60}(?:инструкци|указани|правил)\w*",
        "если|для|в сво|в ваш|в тво",
        r"если (?:ты|вы) ?[—-]? ?(?:языковая модель|ии\b|ассистент|нейросеть)|(?:сообщение|примечание|инструкция) для (?:языковых моделей|ии\b|ассистент|нейросет)|в (?:своём|своем|вашем|твоём|твоем) (?:ответе|резюме)",
    ),
    "zh": (
        "忽略|无视|忘记",
        r"(?:忽略|无视|忘记)[^。]{0,20}(?:指令|指示|提示|规则)",
        "如果你是|致|给|在你的",
        r"如果你是[^。]{0,6}(?:人工智能|语言模型|助手|ai)|(?:致|给)(?:所有)?(?:人工智能|语言模型|ai|助手)|在你的(?:回答|文章|摘要)中",
    ),
    "ja": (
        "無視|忘れ",
        r"(?:指示|命令|ルール|プロンプト)[^。]{0,10}(?:無視|忘れ)",
        "あなたが|への|必ず",
        r"あなたが[^。]{0,8}(?:ai|言語モデル|アシスタント)(?:なら|であれば|の場合)|(?:ai|言語モデル|アシスタント)への(?:指示|メッセージ)|(?:回答|記事|要約)(?:の中)?に必ず",
    ),
    "tr": (
        "talimat|kural|komut",
        r"\b(?:talimat\w*|kural\w*|komut\w*)\b[^.]{0,60}\b(?:yok say\w*|görmezden gel\w*|unut\w*)",
        "eğer bir|yapay|dil model|asistan|yanıtında|cevabında|makalende|özetinde",
        r"\beğer bir (?:yapay zek[aâ]|dil modeli|asistan)|\b(?:yapay zek[aâ]lara|dil modellerine|asistanlara) (?:not|mesaj)|\b(?:yanıtında|cevabında|makalende|özetinde)\b",
    ),
}
_ALIKE: Final = ("аеорсухіјѕԁһкмтвнАВЕКМНОРСТХІЈЅαοινρτυκχı", "aeopcyxijsdhkmtbhABEKMHOPCTXIJSaoivptukxi")
"""Letters of other scripts, and the Latin ones that they look like."""
_LATINISED: Final = str.maketrans(*_ALIKE, "\u0307")
_LOOK_ALIKE: Final = frozenset("".join(_ALIKE))
_WORD: Final = re.compile(r"[^\W\d_]+")
_CYRILLIC: Final = re.compile("[\u0400-\u052f]")
_LATIN: Final = re.compile("[A-Za-z]")
_ENCODED: Final = 80
_BASE64: Final = re.compile(rf"(?<![\w+/])[A-Za-z0-9+/]{{{_ENCODED},}}")


@dataclass(frozen=True, slots=True)
class InstructionForm:
    name: str
    words: Sequence[str]
    """One of them is in every text that the pattern matches. The search for them comes first: a pattern takes a hundred times as long."""
    pattern: re.Pattern[str]


FORMS: Final = (
    *(
        InstructionForm(name, words.split("|"), re.compile(pattern))
        for name, (words, pattern) in _ENGLISH.items()
    ),
    *(
        InstructionForm(f"{name} ({language})", words.split("|"), re.compile(pattern))
        for language, (ignore, ignores, address, addresses) in _OTHERS.items()
        for name, words, pattern in (("ignore", ignore, ignores), ("to models", address, addresses))
    ),
)
"""Known forms of instructions, by the names that logs show."""


# Readers ask about a paragraph by itself, then with its neighbours.
@lru_cache(64)
def find_instruction(text: str) -> str | None:
    """Returns the name of the first form of instruction in the text; None if it has none."""
    readable = _readable(text)
    if len(readable) >= _ENCODED and _BASE64.search(readable):
        return "encoded"
    if _CYRILLIC.search(readable) and any(map(_mixes_scripts, _WORD.findall(readable))):
        return "mixed letters"
    plain = readable.lower()
    found = _find(plain)
    if found is None and not plain.isascii() and (latin := plain.translate(_LATINISED)) != plain:
        return _find(latin)
    return found


def _find(text: str) -> str | None:
    for form in FORMS:
        # Loops, as `any` takes as long as the search itself.
        for word in form.words:
            if word in text:
                if form.pattern.search(text):
                    return form.name
                break
    return None


def _mixes_scripts(word: str) -> bool:
    """Whether letters of another script stand for Latin ones that look alike, or the other way round."""
    cyrillic, latin = _CYRILLIC.findall(word), _LATIN.findall(word)
    if not cyrillic or not latin:
        return False
    fewer = cyrillic if len(cyrillic) < len(latin) else latin
    # Words that lack a space between them have others, too.
    return all(each in _LOOK_ALIKE for each in fewer)


def _readable(text: str) -> str:
    """Returns the text without invisible characters, with compatibility characters resolved and single spaces."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    folded = unicodedata.normalize("NFKC", text)
    seen = "".join(" " if each.isspace() else each for each in folded if each.isspace() or _shows(each))
    return " ".join(seen.split())


def _shows(character: str) -> bool:
    return unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs", "Cn"}
