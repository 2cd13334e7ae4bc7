"""OpenAI's official client for Python, unchanged except for the base URL and the API key.

Reads one line of JSON (URL, keys and test data), then one scenario name per line. Prints one line of JSON for each:
null, or the error.
"""

import json
import sys
import traceback

import openai
from pydantic import BaseModel

context = json.loads(sys.stdin.readline())
hello = [{"role": "user", "content": "Say hello."}]
weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
request_count = 0


def count_request(request):
    global request_count
    request_count += 1


def create_client(key, path="/v1"):
    http_client = openai.DefaultHttpxClient(event_hooks={"request": [count_request]})
    return openai.OpenAI(base_url=context["url"] + path, api_key=key, http_client=http_client)


client = create_client(context["rich"])
completions = client.chat.completions


def catch_error(kind, key=None, **params):
    """The error of a request that must fail with this class."""
    global request_count
    request_count = 0
    caller = client if key is None else create_client(key)
    try:
        caller.chat.completions.create(**{"model": "plain", "messages": hello, **params})
    except kind as error:
        return error
    raise AssertionError("the request succeeded")


def not_streamed():
    completion = completions.create(model="plain", messages=hello)
    assert completion.choices[0].message.content == "Hello, world!"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 1100
    assert completion._request_id


def base_url_without_version():
    completion = create_client(context["rich"], "").chat.completions.create(model="plain", messages=hello)
    assert completion.choices[0].message.content == "Hello, world!"


def streamed():
    chunks = list(completions.create(model="plain", messages=hello, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello, world!"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks)


def streamed_with_usage():
    options = {"include_usage": True}
    chunks = list(completions.create(model="plain", messages=hello, stream=True, stream_options=options))
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 1100
    assert chunks[-1].usage.cost == 0.0022
    assert all(len(chunk.choices) == 1 and chunk.usage is None for chunk in chunks[:-1])


def tools():
    params = {"model": "tools", "messages": hello, "tools": [weather], "parallel_tool_calls": True}
    non_streaming = completions.create(**params)
    with completions.stream(**params) as stream:
        streaming = stream.get_final_completion()
    for completion in (non_streaming, streaming):
        tool_calls = completion.choices[0].message.tool_calls
        assert [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments} for call in tool_calls
        ] == context["toolCalls"]
        assert completion.choices[0].finish_reason == "tool_calls"
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in context["toolCalls"]]
    completions.create(
        model="plain", messages=[*hello, non_streaming.choices[0].message, *results], tools=[weather]
    )


def images():
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": context["image"], "detail": "low"}},
    ]
    completions.create(model="plain", messages=[{"role": "user", "content": content}])


class City(BaseModel):
    city: str
    people: int


def json_schema():
    completion = completions.parse(
        model="schema",
        messages=[{"role": "developer", "content": "Be exact."}, *hello],
        response_format=City,
        seed=7,
        extra_body={"field_of_tomorrow": {"deep": [1, None]}},
    )
    assert completion.choices[0].message.parsed == City(city="Paris", people=2_100_000)


def models():
    assert "plain" in [model.id for model in client.models.list()]
    assert client.models.retrieve("plain").object == "model"


def errors():
    assert catch_error(openai.AuthenticationError, key="sk-nobody").code == "invalid_api_key"
    assert catch_error(openai.NotFoundError, model="nowhere").code == "model_not_found"
    assert catch_error(openai.BadRequestError, temperature=3).param == "temperature"
    poor = catch_error(openai.APIStatusError, key=context["poor"])
    assert (poor.status_code, poor.code, request_count) == (402, "insufficient_quota", 1)


def not_retried():
    limited = catch_error(openai.RateLimitError, key=context["limited"])
    assert limited.response.headers["x-should-retry"] == "false"
    assert request_count == 1


def retried():
    global request_count
    request_count = 0
    completion = completions.create(model="busy", messages=hello)
    assert completion.choices[0].message.content == "Hello again!"
    assert request_count == 2


def disconnect_from_stream():
    with completions.create(model="endless", messages=hello, stream=True) as stream:
        for _, _chunk in zip(range(20), stream):
            pass


def timeout_of_silent_request():
    try:
        client.with_options(timeout=2.0, max_retries=0).chat.completions.create(model="mute", messages=hello)
    except openai.APITimeoutError:
        return
    raise AssertionError("the request succeeded")


def assert_stream_error(model):
    text = ""
    try:
        for chunk in completions.create(model=model, messages=hello, stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError:
        assert text == " w1 w2 w3", text
        return
    raise AssertionError("nothing was raised")


def error_in_a_stream():
    assert_stream_error("broken")


def truncated_stream():
    assert_stream_error("cut")


for line in sys.stdin:
    try:
        globals()[line.strip()]()
        print("null", flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
