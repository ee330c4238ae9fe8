"""OpenAI's chat completions, https://platform.openai.com/docs/api-reference/chat, which many other servers have too.

Its accounts are of the kind `model`, since this API was there before any other.
"""

from typing import Final

from integrations.model_providers.model_provider import ModelProvider

MODEL: Final = ModelProvider(
    asks="`POST {url}/chat/completions`, as OpenAI, Ollama, vLLM, llama.cpp and others answer it",
)
