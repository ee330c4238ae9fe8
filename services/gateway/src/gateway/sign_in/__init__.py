"""Signs people in at the identity provider of the installation (OpenID Connect), for the console.

The console has neither the client's secret nor a way out. It hands over the code that a browser brought back, and gets who signed in and a
secret that belongs to this identity alone, with which it opens what it keeps sealed for the person.
"""

from gateway.sign_in.exchange import SignInExchange
from gateway.sign_in.provider import IdentityProvider, ProviderSettings
from gateway.sign_in.routes import EXCHANGE, sign_in_routes

__all__ = ["EXCHANGE", "IdentityProvider", "ProviderSettings", "SignInExchange", "sign_in_routes"]
