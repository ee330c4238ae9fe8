"""A brand's newsletter: readers subscribe on its site, confirm by mail, and get each new article as a letter.

Entry points: `SubscriptionPages` are the pages for readers, `LetterSender` sends what is due, `mailing_routes` is the API.
`import_subscribers` takes those of another installation.
"""

from publisher.mailing.addresses import mail_address
from publisher.mailing.arrivals import import_subscribers
from publisher.mailing.pages import SubscriptionPages
from publisher.mailing.routes import mailing_routes
from publisher.mailing.sending import LetterSender

__all__ = ["LetterSender", "SubscriptionPages", "import_subscribers", "mail_address", "mailing_routes"]
