"""Anthropic's official client for Python, unchanged except for the base URL and the API key; see client-program.ts."""

import os
import sys
from pathlib import Path

import anthropic
from pydantic import BaseModel

sys.path.append(str(Path(__file__).parent.parent))
from scenario_loop import read_input, run_scenarios  # noqa: E402

context = read_input()
hello = [{"role": "user", "content": "Say hello."}]
weather = {
    "name": "weather",
    "description": "The weather",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}
request_count = 0


def count_request(request):
    global request_count
    request_count += 1


def create_client(key=context["rich"], path="", **options):
    http_client = anthropic.DefaultHttpxClient(event_hooks={"request": [count_request]})
    return anthropic.Anthropic(
        **{"base_url": context["url"] + path, "api_key": key, "http_client": http_client, **options}
    )


client = create_client()


def build_params(model, **fields):
    return {"model": model, "max_tokens": 256, "messages": hello, **fields}


def catch_error(kind, send):
    """The error of a request that must fail with this class."""
    global request_count
    request_count = 0
    try:
        send()
    except kind as error:
        return error
    raise AssertionError("the request succeeded")


def create(model, caller=client, **fields):
    return caller.messages.create(**build_params(model, **fields))


def text_of(message):
    return "".join(block.text for block in message.content)


def answer(message):
    """The results of the calls in a message, after it."""
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "sunny"}
        for block in message.content
        if block.type == "tool_use"
    ]
    return [*hello, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]


def not_streamed(family):
    message = create(f"{family}-plain")
    assert text_of(message) == "Hello, world!"
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1000, 100)
    assert message._request_id.startswith("req_")


def authentication(family):
    with_token = create_client(None, auth_token=context["rich"])
    os.environ.update(ANTHROPIC_BASE_URL=context["url"], ANTHROPIC_API_KEY=context["rich"])
    with_paths = [create_client(path=path) for path in ("/v1", "/")]
    for caller in (with_token, *with_paths, anthropic.Anthropic()):
        assert text_of(create(f"{family}-plain", caller)) == "Hello, world!"


def streamed(family):
    kinds = [event.type for event in create(f"{family}-plain", stream=True)]
    block = ["content_block_start", "content_block_stop"]
    named = [kind for kind in kinds if kind != "content_block_delta"]
    assert named == ["message_start", *block, "message_delta", "message_stop"], named
    with client.messages.stream(**build_params(f"{family}-plain")) as stream:
        assert "".join(stream.text_stream) == "Hello, world!"
        message = stream.get_final_message()
    assert text_of(message) == text_of(create(f"{family}-plain"))
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1000, 100)


def tools(family):
    params = build_params(f"{family}-tools", tools=[weather], tool_choice={"type": "any"})
    non_streaming = client.messages.create(**params)
    with client.messages.stream(**params) as stream:
        streaming = stream.get_final_message()
    for message in (non_streaming, streaming):
        assert [block.input for block in message.content] == context["toolInputs"]
        assert [block.name for block in message.content] == ["weather", "weather"]
        assert message.stop_reason == "tool_use"
    final = client.messages.create(**{**params, "messages": answer(streaming)})
    assert text_of(final) == "Sunny in both."


def switched_model(family):
    other = "other" if family == "claude" else "claude"
    called = create(f"{other}-tools", tools=[weather])
    assert text_of(create(f"{family}-tools", tools=[weather], messages=answer(called))) == "Sunny in both."


def tool_runner(family):
    called_with = []

    @anthropic.beta_tool(name="weather")
    def call_weather(city: str, days: int) -> str:
        """The weather"""
        called_with.append({"city": city, "days": days})
        return "sunny"

    params = build_params(f"{family}-tools", tools=[call_weather])
    for stream in (False, True):
        runner = client.beta.messages.tool_runner(**params, stream=stream)
        assert text_of(runner.until_done()) == "Sunny in both."
    assert called_with == [*context["toolInputs"], *context["toolInputs"]]


def thread(family):
    conversation = client.beta.messages.thread(model=f"{family}-plain", max_tokens=256)
    catch_error(anthropic.types.ThreadUnsupportedRequestError, lambda: conversation.send("Say hello."))


def long_tool_name(family):
    name = "mcp__".ljust(128, "w")
    params = build_params(f"{family}-tools", tools=[{**weather, "name": name}])
    with client.messages.stream(**params) as stream:
        called = stream.get_final_message()
    assert [block.name for block in called.content] == [name, name]
    assert text_of(client.messages.create(**{**params, "messages": answer(called)})) == "Sunny in both."


class City(BaseModel):
    city: str
    people: int


def json_schema(family):
    message = client.messages.parse(**build_params(f"{family}-schema"), output_format=City)
    assert message.parsed_output == City(city="Paris", people=2_100_000)


def sampling(family):
    fields = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "metadata": {"user_id": "ann"}}
    # Version 2 has no arguments for them.
    assert text_of(create(f"{family}-plain", extra_body=fields)) == "Hello, world!"


def thinking(family):
    params = build_params(
        f"{family}-thinking",
        max_tokens=2048,
        thinking={"type": "enabled", "budget_tokens": 1024},
        tools=[weather],
    )
    with client.messages.stream(**params) as stream:
        message = stream.get_final_message()
    assert message.content[0].thinking == "Let me see." and message.content[0].signature
    assert text_of(client.messages.create(**{**params, "messages": answer(message)})) == "Sunny in both."


def images(family):
    source = {"type": "base64", "media_type": "image/png", "data": context["image"]}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    create(f"{family}-plain", system=system, messages=[{"role": "user", "content": content}])


def betas(family):
    client.beta.messages.create(**build_params(f"{family}-plain"), betas=["a-beta-2025-01-01"])


def token_counting(family):
    tokens = client.messages.count_tokens(model=f"{family}-plain", messages=hello).input_tokens
    assert tokens == (7 if family == "claude" else 3), tokens


def models(family):
    model_ids = [model.id for model in client.models.list(limit=3)]
    assert len(model_ids) == len(set(model_ids)) and f"{family}-plain" in model_ids
    assert client.models.retrieve(f"{family}-plain").display_name == f"{family}-plain"


def errors(family):
    model = f"{family}-plain"
    catch_error(anthropic.AuthenticationError, lambda: create(model, create_client("sk-nobody")))
    catch_error(anthropic.NotFoundError, lambda: create("nowhere"))
    invalid = catch_error(anthropic.BadRequestError, lambda: create(model, max_tokens=0))
    assert "max_tokens" in invalid.message
    assert invalid.request_id.startswith("req_")
    unpaid = catch_error(anthropic.APIStatusError, lambda: create(model, create_client(context["poor"])))
    assert (unpaid.status_code, unpaid.type, request_count) == (402, "billing_error", 1)
    catch_error(anthropic.RateLimitError, lambda: create(model, create_client(context["limited"])))
    assert request_count == 1


def typed_error(family):
    error = catch_error(anthropic.types.ImageDimensionsTooLargeError, lambda: create(f"{family}-plain"))
    assert error.details.max_side_length_pixels == 8000


def not_available(family):
    catch_error(anthropic.NotFoundError, lambda: client.messages.batches.create(requests=[]))
    assert request_count == 1


def too_large(family):
    messages = [{"role": "user", "content": "x" * (40 * 2**20)}]
    error = catch_error(anthropic.APIStatusError, lambda: create(f"{family}-plain", messages=messages))
    assert (error.status_code, error.type) == (413, "request_too_large")


def retried(family):
    global request_count
    request_count = 0
    assert text_of(create(f"{family}-plain")) == "Hello, world!"
    assert request_count == 2


def without_retries(family):
    caller = client.with_options(max_retries=0)
    catch_error(anthropic.RateLimitError, lambda: create(f"{family}-plain", caller))
    assert request_count == 1


def disconnect_from_stream(family):
    with create(f"{family}-endless", max_tokens=5000, stream=True) as stream:
        for _, _event in zip(range(20), stream):
            pass


def timeout_of_silent_request(family):
    caller = client.with_options(timeout=2.0, max_retries=0)
    catch_error(anthropic.APITimeoutError, lambda: create(f"{family}-mute", caller))


def assert_stream_error(model):
    text = ""
    try:
        with client.messages.stream(**build_params(model)) as stream:
            for part in stream.text_stream:
                text += part
    except anthropic.APIError:
        assert text == " w1 w2 w3", text
        return
    raise AssertionError("nothing was raised")


def error_in_stream(family):
    assert_stream_error(f"{family}-broken")


def truncated_stream(family):
    assert_stream_error(f"{family}-cut")


run_scenarios(globals())
