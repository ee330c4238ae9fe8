"""Search engines and models: settings of their accounts, requests to them, and their answers and errors."""

from gateway.providers.account_settings import KINDS, ModelSettings, search_settings
from gateway.providers.http_client import ProviderHttpClient

__all__ = ["KINDS", "ModelSettings", "ProviderHttpClient", "search_settings"]
