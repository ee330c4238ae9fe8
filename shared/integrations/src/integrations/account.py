"""What connecting an account at a network, a site or another outside service takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthLogin:
    """A log-in by browser (RFC 6749), with the scopes that posting needs."""

    authorize_url: str
    token_url: str
    scopes: tuple[str, ...]
    scope_separator: str = " "
    has_pkce: bool = True
    """Whether it takes a code verifier (RFC 7636)."""
    secret_in_form: bool = True
    """True: the app's secret is a form field; False: basic authentication."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The settings for connecting an account of a kind, and the address of its requests.

    `secret` and `user` name the fields of the gateway's credentials that hold them; empty without one.
    """

    kind: str
    secret: str = ""
    needs_secret: bool = True
    user: str = ""
    address_example: str = ""
    """Of the address that a person gives; empty: the account is at `api`, or at a default of the gateway's."""
    needed_settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings that a person has to give → an example of each."""
    further_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that a form offers besides → an example of each."""
    api: str | None = None
    """The provider's own address; None: the account's settings hold one."""
    login: OAuthLogin | None = None
    """None: a person gives the secret instead."""
    can_be_checked: bool = True
    """Whether a request shows that the account works, before something is sent."""
