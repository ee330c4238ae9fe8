"""Texts for readers about a newsletter, in the language of the brand."""

from collections.abc import Mapping
from typing import Final

_ENGLISH: Final = {
    "title": "Subscribe",
    "lead": "Get each new article by mail.",
    "address": "Your mail address",
    "subscribe": "Subscribe",
    "promise": "You first get a letter with a link that confirms your address. You can leave with one click in every letter. The address is used for nothing else.",
    "wrong": "This is no mail address. Write it like ada@example.org.",
    "elsewhere": "The form was sent from another site. Send it from here.",
    "too_many": "Too many people have subscribed in the last hour. Please try again in an hour.",
    "too_many_here": "Too many addresses were subscribed from your network in the last hour. Please try again in an hour.",
    "sent_title": "Look into your mail",
    "sent": "If the address is right and does not subscribe yet, a letter is on its way to it. Its link, good for three days, confirms the subscription.",
    "confirm_title": "Confirm your subscription",
    "confirm": "Press the button to get each new article by mail.",
    "confirm_button": "Confirm",
    "confirmed_title": "You have subscribed",
    "confirmed": "You get each new article by mail from now on.",
    "void_title": "This link is no longer good",
    "void": "Subscribe again to get another one.",
    "leave_title": "Leave the newsletter",
    "leave": "Press the button to get no more letters.",
    "leave_button": "Leave",
    "left_title": "You get no more letters",
    "left": "Your address is deleted.",
    "confirmation_subject": "Confirm your subscription to {name}",
    "confirmation_text": "Somebody, probably you, has subscribed to {name} with this address.\n\nTo confirm, follow this link and press the button. It is good for three days:\n{link}\n\nIf it was not you, do nothing: no further letter comes.",
    "letter_why": "You get this letter because you subscribed to {name}.",
    "letter_leave": "Leave the newsletter",
}
_GERMAN: Final = {
    "title": "Abonnieren",
    "lead": "Jeden neuen Artikel per E-Mail erhalten.",
    "address": "Ihre E-Mail-Adresse",
    "subscribe": "Abonnieren",
    "promise": "Sie erhalten zuerst eine E-Mail mit einem Link, der Ihre Adresse bestätigt. In jeder E-Mail können Sie sich mit einem Klick abmelden. Die Adresse dient keinem anderen Zweck.",
    "wrong": "Das ist keine E-Mail-Adresse. Schreiben Sie sie wie ada@example.org.",
    "elsewhere": "Das Formular kam von einer anderen Website. Senden Sie es von hier.",
    "too_many": "In der letzten Stunde haben zu viele abonniert. Bitte versuchen Sie es in einer Stunde noch einmal.",
    "too_many_here": "Aus Ihrem Netz wurden in der letzten Stunde zu viele Adressen angemeldet. Bitte versuchen Sie es in einer Stunde noch einmal.",
    "sent_title": "Sehen Sie in Ihr Postfach",
    "sent": "Wenn die Adresse stimmt und noch nicht abonniert hat, ist eine E-Mail an sie unterwegs. Der Link darin gilt drei Tage und bestätigt das Abonnement.",
    "confirm_title": "Abonnement bestätigen",
    "confirm": "Drücken Sie den Knopf, um jeden neuen Artikel per E-Mail zu erhalten.",
    "confirm_button": "Bestätigen",
    "confirmed_title": "Sie haben abonniert",
    "confirmed": "Von nun an erhalten Sie jeden neuen Artikel per E-Mail.",
    "void_title": "Dieser Link gilt nicht mehr",
    "void": "Abonnieren Sie noch einmal, um einen neuen zu erhalten.",
    "leave_title": "Newsletter abbestellen",
    "leave": "Drücken Sie den Knopf, um keine E-Mails mehr zu erhalten.",
    "leave_button": "Abbestellen",
    "left_title": "Sie erhalten keine E-Mails mehr",
    "left": "Ihre Adresse ist gelöscht.",
    "confirmation_subject": "Bestätigen Sie Ihr Abonnement von {name}",
    "confirmation_text": "Jemand, wahrscheinlich Sie selbst, hat mit dieser Adresse {name} abonniert.\n\nZum Bestätigen folgen Sie diesem Link und drücken den Knopf. Er gilt drei Tage:\n{link}\n\nWaren Sie es nicht, tun Sie nichts: Es kommt keine weitere E-Mail.",
    "letter_why": "Sie erhalten diese E-Mail, weil Sie {name} abonniert haben.",
    "letter_leave": "Newsletter abbestellen",
}


def texts_for(language: str) -> Mapping[str, str]:
    """Returns the texts in the language; in English if they are not there in it."""
    return _GERMAN if language.lower().partition("-")[0] == "de" else _ENGLISH
