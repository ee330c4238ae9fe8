"""Settings of the service, from environment variables."""

from pydantic import DirectoryPath, Field

from chassis import KeyedSettings, WebAddress
from messaging import ServiceSettings


class Settings(ServiceSettings, KeyedSettings):
    http_port: int = 8011
    corpus: DirectoryPath = Field(
        description="folder of .md, .html, .rst, .adoc, .txt and .pdf documents to research in"
    )
    corpus_rescan_seconds: float = Field(
        default=300.0, gt=0, description="pause between looks for changed documents"
    )
    gateway_url: WebAddress | None = Field(
        default=None,
        description="address of the gateway, through which the web is read; unset: it is not read",
    )
    model_name: str = Field(
        default="model",
        min_length=1,
        max_length=200,
        description="the model that proposes searches to brands that want that, as the gateway calls it",
    )
