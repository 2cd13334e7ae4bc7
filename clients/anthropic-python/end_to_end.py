"""Anthropic's official client for Python, unchanged except for the base URL and the API key.

Reads one line of JSON (URL, keys and test data), then a model family and a scenario name per line. Prints one line of
JSON for each: null, or the error.
"""

import json
import sys
import traceback

import anthropic

context = json.loads(sys.stdin.readline())
hello = [{"role": "user", "content": "Say hello."}]
weather = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
family = "claude"
request_count = 0


def count_request(request):
    global request_count
    request_count += 1


def create_client(key, path=""):
    http_client = anthropic.DefaultHttpxClient(event_hooks={"request": [count_request]})
    return anthropic.Anthropic(base_url=context["url"] + path, api_key=key, http_client=http_client)


client = create_client(context["rich"])


def build_params(name, **fields):
    return {"model": f"{family}-{name}", "max_tokens": 256, "messages": hello, **fields}


def catch_error(kind, fields, key=None):
    """The error of a request that must fail with this class."""
    global request_count
    request_count = 0
    caller = client if key is None else create_client(key)
    try:
        caller.messages.create(**fields)
    except kind as error:
        return error
    raise AssertionError("the request succeeded")


def not_streamed():
    message = client.messages.create(**build_params("plain"))
    assert [block.text for block in message.content] == ["Hello, world!"]
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1000, 100)
    assert message._request_id.startswith("req_")


def base_url_with_version():
    assert create_client(context["rich"], "/v1").messages.create(**build_params("plain")).type == "message"


def streamed():
    with client.messages.stream(**build_params("plain")) as stream:
        assert "".join(stream.text_stream) == "Hello, world!"
        message = stream.get_final_message()
    non_streaming = client.messages.create(**build_params("plain"))
    assert message.content[0].text == non_streaming.content[0].text
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 100)


def tools():
    params = build_params("tools", tools=[weather], tool_choice={"type": "any"})
    non_streaming = client.messages.create(**params)
    with client.messages.stream(**params) as stream:
        streaming = stream.get_final_message()
    for message in (non_streaming, streaming):
        tool_calls = [{"id": block.id, "name": block.name, "input": block.input} for block in message.content]
        assert tool_calls == context["toolCalls"]
        assert message.stop_reason == "tool_use"
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"} for call in context["toolCalls"]
    ]
    messages = [{"role": "assistant", "content": streaming.content}, {"role": "user", "content": results}]
    client.messages.create(**build_params("plain", messages=[*hello, *messages], tools=[weather]))


def thinking():
    params = build_params("thinking", max_tokens=2048, thinking={"type": "enabled", "budget_tokens": 1024})
    with client.messages.stream(**params) as stream:
        content = stream.get_final_message().content
    assert [block.type for block in content] == ["thinking", "text"]
    assert content[0].thinking == "Let me see." and content[0].signature
    client.messages.create(**{**params, "messages": [*hello, {"role": "assistant", "content": content}, *hello]})


def token_counting():
    tokens = client.messages.count_tokens(model=f"{family}-plain", messages=hello).input_tokens
    assert tokens == (7 if family == "claude" else 3), tokens


def models():
    model_ids = [model.id for model in client.models.list(limit=3)]
    assert len(model_ids) == len(set(model_ids)) and f"{family}-plain" in model_ids
    assert client.models.retrieve(f"{family}-plain").type == "model"


def errors():
    catch_error(anthropic.AuthenticationError, build_params("plain"), "sk-nobody")
    catch_error(anthropic.NotFoundError, build_params("nowhere"))
    assert "max_tokens" in catch_error(anthropic.BadRequestError, build_params("plain", max_tokens=0)).message
    poor = catch_error(anthropic.APIStatusError, build_params("plain"), context["poor"])
    assert (poor.status_code, poor.body["error"]["type"], request_count) == (402, "billing_error", 1)
    catch_error(anthropic.RateLimitError, build_params("plain"), context["limited"])
    assert request_count == 1


def retried():
    global request_count
    request_count = 0
    assert client.messages.create(**build_params("plain")).type == "message"
    assert request_count == 2


def disconnect_from_stream():
    with client.messages.create(**build_params("endless"), stream=True) as stream:
        for _, _event in zip(range(20), stream):
            pass


def assert_stream_error(name):
    text = ""
    try:
        with client.messages.stream(**build_params(name)) as stream:
            for part in stream.text_stream:
                text += part
    except anthropic.APIError:
        assert text == " w1 w2 w3", text
        return
    raise AssertionError("nothing was raised")


def error_in_a_stream():
    assert_stream_error("broken")


def truncated_stream():
    assert_stream_error("cut")


for line in sys.stdin:
    try:
        family, scenario = line.split()
        globals()[scenario]()
        print("null", flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
