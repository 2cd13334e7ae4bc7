"""LangChain, unchanged: the standard integration tests for chat models and embeddings, and what they leave out.

SLUICE_URL is the relay's address; RICH, POOR and LIMITED are API keys.
"""

import base64
import os

import anthropic
import httpx
import openai
import pytest
from langchain_anthropic import ChatAnthropic
import tiktoken
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_tests.integration_tests import ChatModelIntegrationTests, EmbeddingsIntegrationTests

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
    # By test: why it cannot pass, with any relay.
    impossible = {"test_stream_time": "it replays a recording instead of calling a model"}

    @property
    def chat_model_params(self):
        return self.params("agent")

    @pytest.fixture(autouse=True)
    def files(self, monkeypatch):
        """The standard tests fetch their files from the internet."""
        contents = {"png": base64.b64decode(image), "pdf": b"%PDF-1.4\n%%EOF\n", "wav": b"RIFF"}

        def get(address, **_options):
            return httpx.Response(200, content=contents[address[-3:]])

        monkeypatch.setattr(httpx, "get", get)

    @property
    def supports_image_inputs(self):
        return True

    @property
    def supports_image_urls(self):
        return True

    @property
    def supports_pdf_inputs(self):
        return True

    @property
    def supports_image_tool_message(self):
        return True

    @property
    def supports_pdf_tool_message(self):
        return True

    @property
    def supports_audio_inputs(self):
        return True

    @property
    def supports_anthropic_inputs(self):
        return True

    @property
    def supports_json_mode(self):
        return True

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


class ResponsesTests(OpenAITests):
    def params(self, behavior, key="RICH"):
        return {**super().params(behavior, key), "use_responses_api": True}


class AnthropicTests(StandardTests):
    chat_model_class = ChatAnthropic
    library = anthropic
    impossible = {**StandardTests.impossible, "test_audio_inputs": "ChatAnthropic takes no audio"}


class TestOpenAIOther(OpenAITests):
    family = "other"
    impossible = {
        **StandardTests.impossible,
        "test_image_tool_message": "OpenAI's Chat Completions take no image as the result of a tool",
        "test_pdf_tool_message": "OpenAI's Chat Completions take no file as the result of a tool",
        "test_anthropic_inputs": "OpenAI's Chat Completions know no cache_control",
    }


class TestOpenAIClaude(OpenAITests):
    family = "claude"
    impossible = {**StandardTests.impossible, "test_audio_inputs": "Claude takes no audio"}


class TestResponsesOther(ResponsesTests):
    family = "other"


class TestResponsesClaude(ResponsesTests):
    family = "claude"


class TestAnthropicOther(AnthropicTests):
    family = "other"


class TestAnthropicClaude(AnthropicTests):
    family = "claude"


class TestEmbeddings(EmbeddingsIntegrationTests):
    embeddings_class = OpenAIEmbeddings
    impossible = {}

    @property
    def embedding_model_params(self):
        return self.params("RICH")

    def params(self, key):
        return {"model": "text-embedding-3-small", "base_url": f"{url}/v1", "api_key": os.environ[key]}

    @pytest.fixture(autouse=True)
    def tokenizer(self, monkeypatch):
        """OpenAI's own is fetched from the internet; this one has a token for each byte."""
        ranks = {bytes([byte]): byte for byte in range(256)}
        encoding = tiktoken.Encoding("bytes", pat_str="(?s).", mergeable_ranks=ranks, special_tokens={})
        monkeypatch.setattr(tiktoken, "encoding_for_model", lambda _name: encoding)

    def test_values(self, model):
        vector = [0.5, -0.5, 0.25]
        assert model.embed_documents(["one", "two"]) == [vector, vector]
        texts = OpenAIEmbeddings(**self.params("RICH"), check_embedding_ctx_length=False)
        assert texts.embed_documents(["one", "two"]) == [vector, vector]

    def test_errors(self):
        for key, kind in (("NOBODY", openai.AuthenticationError), ("POOR", openai.APIStatusError)):
            with pytest.raises(kind):
                OpenAIEmbeddings(**self.params(key), max_retries=0).embed_query("one")
