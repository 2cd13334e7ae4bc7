"""The official client for Python, unchanged: only the base address and the key are ours.

Reads one line of JSON (address, keys, and what is sent), then the name of one story a line, and answers each with a
line of JSON: null, or what went wrong.
"""

import json
import sys
import traceback

import openai
from pydantic import BaseModel

stage = json.loads(sys.stdin.readline())
hello = [{"role": "user", "content": "Say hello."}]
weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
calls = 0


def count_call(request):
    global calls
    calls += 1


def client_of(key, path="/v1"):
    http_client = openai.DefaultHttpxClient(event_hooks={"request": [count_call]})
    return openai.OpenAI(base_url=stage["url"] + path, api_key=key, http_client=http_client)


client = client_of(stage["rich"])
completions = client.chat.completions


def refusal(kind, key=None, **asked):
    """The error of a call that has to fail, of this class."""
    global calls
    calls = 0
    asker = client if key is None else client_of(key)
    try:
        asker.chat.completions.create(**{"model": "plain", "messages": hello, **asked})
    except kind as error:
        return error
    raise AssertionError("the call succeeded")


def whole():
    completion = completions.create(model="plain", messages=hello)
    assert completion.choices[0].message.content == "Hello, world!"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 1100
    assert completion._request_id


def base_address_without_version():
    completion = client_of(stage["rich"], "").chat.completions.create(model="plain", messages=hello)
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
    asked = {"model": "tools", "messages": hello, "tools": [weather], "parallel_tool_calls": True}
    whole_answer = completions.create(**asked)
    with completions.stream(**asked) as stream:
        streamed_answer = stream.get_final_completion()
    for completion in (whole_answer, streamed_answer):
        told = completion.choices[0].message.tool_calls
        assert [
            {"id": call.id, "name": call.function.name, "arguments": call.function.arguments} for call in told
        ] == stage["toolCalls"]
        assert completion.choices[0].finish_reason == "tool_calls"
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in stage["toolCalls"]]
    completions.create(
        model="plain", messages=[*hello, whole_answer.choices[0].message, *results], tools=[weather]
    )


def images():
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": stage["image"], "detail": "low"}},
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


def refusals():
    assert refusal(openai.AuthenticationError, key="sk-nobody").code == "invalid_api_key"
    assert refusal(openai.NotFoundError, model="nowhere").code == "model_not_found"
    assert refusal(openai.BadRequestError, temperature=3).param == "temperature"
    poor = refusal(openai.APIStatusError, key=stage["poor"])
    assert (poor.status_code, poor.code, calls) == (402, "insufficient_quota", 1)


def not_retried():
    limited = refusal(openai.RateLimitError, key=stage["limited"])
    assert limited.response.headers["x-should-retry"] == "false"
    assert calls == 1


def retried():
    global calls
    calls = 0
    completion = completions.create(model="busy", messages=hello)
    assert completion.choices[0].message.content == "Hello again!"
    assert calls == 2


def leaving_a_stream():
    with completions.create(model="endless", messages=hello, stream=True) as stream:
        for _, _chunk in zip(range(20), stream):
            pass


def leaving_a_silent_call():
    try:
        client.with_options(timeout=0.5, max_retries=0).chat.completions.create(model="mute", messages=hello)
    except openai.APITimeoutError:
        return
    raise AssertionError("the call succeeded")


def raising(model):
    words = ""
    try:
        for chunk in completions.create(model=model, messages=hello, stream=True):
            words += chunk.choices[0].delta.content or ""
    except openai.APIError:
        assert words == " w1 w2 w3", words
        return
    raise AssertionError("nothing was raised")


def error_in_a_stream():
    raising("broken")


def cut_stream():
    raising("cut")


for line in sys.stdin:
    try:
        globals()[line.strip()]()
        print("null", flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
