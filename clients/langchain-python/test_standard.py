"""LangChain, unchanged: the standard integration tests for chat models, and what they leave out.

SLUICE_URL is the relay's address; RICH, POOR and LIMITED are API keys.
"""

import os

import anthropic
import openai
import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

url = os.environ["SLUICE_URL"]
image = os.environ["IMAGE"]


# As docs/clients/langchain.md creates them.
def openai_params(model, key):
    return {"model": model, "base_url": f"{url}/v1", "api_key": key, "stream_usage": True}


def anthropic_params(model, key):
    return {"model": model, "base_url": url, "api_key": key}


def raised(kind, model):
    with pytest.raises(kind) as caught:
        model.invoke("Hello")
    return caught.value


class StandardTests(ChatModelIntegrationTests):
    family: str
    library = None

    @property
    def chat_model_params(self):
        return self.params("agent")

    @property
    def supports_image_inputs(self):
        # The standard tests fetch their images from the internet; test_image has one of its own.
        return False

    @property
    def model_override_value(self):
        return f"{self.family}-plain"

    def params(self, behavior, key="RICH"):
        create = openai_params if self.chat_model_class is ChatOpenAI else anthropic_params
        return create(f"{self.family}-{behavior}", os.environ[key])

    def create(self, behavior, key="RICH"):
        return self.chat_model_class(**self.params(behavior, key), max_retries=0)

    def test_usage(self, model):
        usage = model.invoke("Hello").usage_metadata
        assert (usage["input_tokens"], usage["output_tokens"]) == (1000, 100)
        streamed = None
        for chunk in model.stream("Hello"):
            streamed = chunk if streamed is None else streamed + chunk
        assert streamed.usage_metadata["output_tokens"] == 100
        assert streamed.usage_metadata["input_tokens"] == 1000

    def test_image(self, model):
        content = [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "base64": image, "mime_type": "image/png"},
        ]
        assert model.invoke([HumanMessage(content)]).text == "Hello, world!"

    def test_errors(self):
        assert raised(self.library.AuthenticationError, self.create("agent", "NOBODY")).status_code == 401
        assert raised(self.library.APIStatusError, self.create("agent", "POOR")).status_code == 402
        assert raised(self.library.RateLimitError, self.create("agent", "LIMITED")).status_code == 429
        assert raised(self.library.NotFoundError, self.create("nowhere")).status_code == 404

    @pytest.mark.parametrize("behavior", ["broken", "cut"])
    def test_failing_stream(self, behavior):
        text = ""
        with pytest.raises(self.library.APIError):
            for chunk in self.create(behavior).stream("Hello"):
                text += chunk.text
        assert text == " w1 w2 w3"


class OpenAITests(StandardTests):
    chat_model_class = ChatOpenAI
    library = openai

    @property
    def supports_json_mode(self):
        return True


class AnthropicTests(StandardTests):
    chat_model_class = ChatAnthropic
    library = anthropic

    @property
    def supports_anthropic_inputs(self):
        return True


class TestOpenAIOther(OpenAITests):
    family = "other"


class TestOpenAIClaude(OpenAITests):
    family = "claude"


class TestAnthropicOther(AnthropicTests):
    family = "other"


class TestAnthropicClaude(AnthropicTests):
    family = "claude"
