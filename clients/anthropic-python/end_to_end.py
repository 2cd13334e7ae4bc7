"""Anthropic's official client for Python, unchanged: only the base address and the key are ours.

Reads one line of JSON (address, keys, and what is sent), then the family and the name of one story a line, and answers
each with a line of JSON: null, or what went wrong.
"""

import json
import sys
import traceback

import anthropic

stage = json.loads(sys.stdin.readline())
hello = [{"role": "user", "content": "Say hello."}]
weather = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
family = "claude"
calls = 0


def count_call(request):
    global calls
    calls += 1


def client_of(key, path=""):
    http_client = anthropic.DefaultHttpxClient(event_hooks={"request": [count_call]})
    return anthropic.Anthropic(base_url=stage["url"] + path, api_key=key, http_client=http_client)


client = client_of(stage["rich"])


def ask(name, **fields):
    return {"model": f"{family}-{name}", "max_tokens": 256, "messages": hello, **fields}


def refusal(kind, asked, key=None):
    """The error of a call that has to fail, of this class."""
    global calls
    calls = 0
    asker = client if key is None else client_of(key)
    try:
        asker.messages.create(**asked)
    except kind as error:
        return error
    raise AssertionError("the call succeeded")


def whole():
    message = client.messages.create(**ask("plain"))
    assert [block.text for block in message.content] == ["Hello, world!"]
    assert message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1000, 100)
    assert message._request_id.startswith("req_")


def base_address_with_version():
    assert client_of(stage["rich"], "/v1").messages.create(**ask("plain")).type == "message"


def streamed():
    with client.messages.stream(**ask("plain")) as stream:
        assert "".join(stream.text_stream) == "Hello, world!"
        message = stream.get_final_message()
    whole_answer = client.messages.create(**ask("plain"))
    assert message.content[0].text == whole_answer.content[0].text
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 100)


def tools():
    asked = ask("tools", tools=[weather], tool_choice={"type": "any"})
    whole_answer = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        streamed_answer = stream.get_final_message()
    for message in (whole_answer, streamed_answer):
        told = [{"id": block.id, "name": block.name, "input": block.input} for block in message.content]
        assert told == stage["toolCalls"]
        assert message.stop_reason == "tool_use"
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"} for call in stage["toolCalls"]
    ]
    turns = [{"role": "assistant", "content": streamed_answer.content}, {"role": "user", "content": results}]
    client.messages.create(**ask("plain", messages=[*hello, *turns], tools=[weather]))


def thinking():
    asked = ask("thinking", max_tokens=2048, thinking={"type": "enabled", "budget_tokens": 1024})
    with client.messages.stream(**asked) as stream:
        content = stream.get_final_message().content
    assert [block.type for block in content] == ["thinking", "text"]
    assert content[0].thinking == "Let me see." and content[0].signature
    client.messages.create(**{**asked, "messages": [*hello, {"role": "assistant", "content": content}, *hello]})


def counted():
    tokens = client.messages.count_tokens(model=f"{family}-plain", messages=hello).input_tokens
    assert tokens == (7 if family == "claude" else 3), tokens


def models():
    listed = [model.id for model in client.models.list(limit=3)]
    assert len(listed) == len(set(listed)) and f"{family}-plain" in listed
    assert client.models.retrieve(f"{family}-plain").type == "model"


def refusals():
    refusal(anthropic.AuthenticationError, ask("plain"), "sk-nobody")
    refusal(anthropic.NotFoundError, ask("nowhere"))
    assert "max_tokens" in refusal(anthropic.BadRequestError, ask("plain", max_tokens=0)).message
    poor = refusal(anthropic.APIStatusError, ask("plain"), stage["poor"])
    assert (poor.status_code, poor.body["error"]["type"], calls) == (402, "billing_error", 1)
    refusal(anthropic.RateLimitError, ask("plain"), stage["limited"])
    assert calls == 1


def retried():
    global calls
    calls = 0
    assert client.messages.create(**ask("plain")).type == "message"
    assert calls == 2


def leaving_a_stream():
    with client.messages.create(**ask("endless"), stream=True) as stream:
        for _, _event in zip(range(20), stream):
            pass


def raising(name):
    words = ""
    try:
        with client.messages.stream(**ask(name)) as stream:
            for text in stream.text_stream:
                words += text
    except anthropic.APIError:
        assert words == " w1 w2 w3", words
        return
    raise AssertionError("nothing was raised")


def error_in_a_stream():
    raising("broken")


def cut_stream():
    raising("cut")


for line in sys.stdin:
    try:
        family, story = line.split()
        globals()[story]()
        print("null", flush=True)
    except Exception:
        print(json.dumps(traceback.format_exc()), flush=True)
