"""OpenAI's official client for Python, unchanged except for the base URL and the API key; see client-program.ts."""

import json
import os
import re
import sys
from pathlib import Path

import openai
from pydantic import BaseModel

sys.path.append(str(Path(__file__).parent.parent))
from scenario_loop import read_input, run_scenarios  # noqa: E402

context = read_input()
hello = [{"role": "user", "content": "Say hello."}]
weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
}
request_count = 0


def count_request(request):
    global request_count
    request_count += 1


def create_client(key=context["rich"], path="/v1", **options):
    http_client = openai.DefaultHttpxClient(event_hooks={"request": [count_request]})
    return openai.OpenAI(base_url=context["url"] + path, api_key=key, http_client=http_client, **options)


client = create_client()
completions = client.chat.completions


def catch_error(kind, send):
    """The error of a request that must fail with this class."""
    global request_count
    request_count = 0
    try:
        send()
    except kind as error:
        return error
    raise AssertionError("the request succeeded")


def create(model, caller=client, **params):
    return caller.chat.completions.create(**{"model": model, "messages": hello, **params})


def answer(message):
    """The results of the calls in a message, after it."""
    results = [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls]
    return [*hello, message, *results]


def not_streamed(family):
    completion = create(f"{family}-plain")
    assert completion.choices[0].message.content == "Hello, world!"
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 1100
    assert re.match("req_", completion._request_id)


def base_url(family):
    os.environ.update(OPENAI_BASE_URL=context["url"] + "/v1", OPENAI_API_KEY=context["rich"])
    for caller in (create_client(path=""), openai.OpenAI()):
        completion = caller.chat.completions.create(model=f"{family}-plain", messages=hello)
        assert completion.choices[0].message.content == "Hello, world!"


def streamed(family):
    chunks = list(completions.create(model=f"{family}-plain", messages=hello, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello, world!"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(len(chunk.choices) == 1 and chunk.usage is None for chunk in chunks)


def streamed_with_usage(family):
    params = {"model": f"{family}-plain", "messages": hello, "stream_options": {"include_usage": True}}
    chunks = list(completions.create(**params, stream=True))
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 1100
    assert chunks[-1].usage.cost == 0.0022
    assert all(len(chunk.choices) == 1 and chunk.usage is None for chunk in chunks[:-1])
    with completions.stream(**params) as stream:
        completion = stream.get_final_completion()
    assert completion.choices[0].message.content == "Hello, world!"
    assert completion.usage.total_tokens == 1100


def tools(family):
    params = {"model": f"{family}-tools", "messages": hello, "tools": [weather], "parallel_tool_calls": True}
    non_streaming = completions.create(**params)
    with completions.stream(**params) as stream:
        streaming = stream.get_final_completion()
    for completion in (non_streaming, streaming):
        tool_calls = completion.choices[0].message.tool_calls
        assert [json.loads(call.function.arguments) for call in tool_calls] == context["toolInputs"]
        assert completion.choices[0].finish_reason == "tool_calls"
    messages = answer(non_streaming.choices[0].message)
    final = completions.create(**{**params, "messages": messages})
    assert final.choices[0].message.content == "Sunny in both."


def switched_model(family):
    other = "other" if family == "claude" else "claude"
    completion = completions.create(model=f"{other}-tools", messages=hello, tools=[weather])
    messages = answer(completion.choices[0].message)
    final = completions.create(model=f"{family}-tools", messages=messages, tools=[weather])
    assert final.choices[0].message.content == "Sunny in both."


def sampling(family):
    fields = {"temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 100, "user": "ann"}
    completion = completions.create(model=f"{family}-plain", messages=hello, **fields)
    assert completion.choices[0].message.content == "Hello, world!"


def images(family):
    url = f"data:image/png;base64,{context['image']}"
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
    ]
    completions.create(model=f"{family}-plain", messages=[{"role": "user", "content": content}])


class City(BaseModel):
    city: str
    people: int


def json_schema(family):
    completion = completions.parse(
        model=f"{family}-schema",
        messages=[{"role": "developer", "content": "Be exact."}, *hello],
        response_format=City,
    )
    assert completion.choices[0].message.parsed == City(city="Paris", people=2_100_000)


def thinking(family):
    params = {
        "model": f"{family}-thinking",
        "tools": [weather],
        "reasoning_effort": "low",
        "max_completion_tokens": 8192,
    }
    completion = completions.create(**params, messages=hello)
    final = completions.create(**params, messages=answer(completion.choices[0].message))
    assert final.choices[0].message.content == "Sunny in both."


def models(family):
    assert f"{family}-plain" in [model.id for model in client.models.list()]
    assert client.models.retrieve(f"{family}-plain").object == "model"


def errors(family):
    model = f"{family}-plain"
    unknown = catch_error(openai.AuthenticationError, lambda: create(model, create_client("sk-nobody")))
    assert unknown.code == "invalid_api_key"
    assert re.match("req_", unknown.request_id)
    missing = catch_error(openai.NotFoundError, lambda: create("nowhere"))
    assert missing.code == "model_not_found"
    invalid = catch_error(openai.BadRequestError, lambda: create(model, temperature=3))
    assert invalid.param == "temperature"
    unpaid = catch_error(openai.APIStatusError, lambda: create(model, create_client(context["poor"])))
    assert (unpaid.status_code, unpaid.code, request_count) == (402, "insufficient_quota", 1)


def responses(family):
    params = {"model": f"{family}-plain", "input": "Say hello."}
    with client.responses.stream(**params) as stream:
        stream.until_done()
        streamed = stream.get_final_response()
    for response in (client.responses.create(**params), streamed):
        assert response.output_text == "Hello, world!"
        assert response.status == "completed"
        assert response.usage.total_tokens == 1100
    parsed = client.responses.parse(**{**params, "model": f"{family}-schema"}, text_format=City)
    assert parsed.output_parsed == City(city="Paris", people=2_100_000)


def responses_tools(family):
    params = {
        "model": f"{family}-thinking",
        "tools": [{"type": "function", "strict": False, **weather["function"]}],
        "reasoning": {"effort": "low"},
        "max_output_tokens": 8192,
    }
    first = client.responses.create(**params, input=hello)
    calls = [item for item in first.output if item.type == "function_call"]
    assert [json.loads(call.arguments) for call in calls] == context["toolInputs"]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"} for call in calls]
    final = client.responses.create(**params, input=[*hello, *first.output, *results])
    assert final.output_text == "Sunny in both."


def responses_error(family):
    for model in (f"{family}-broken", f"{family}-cut"):
        text = ""
        try:
            for event in client.responses.create(model=model, input="Say hello.", stream=True):
                if event.type == "response.output_text.delta":
                    text += event.delta
        except openai.APIError:
            assert text == " w1 w2 w3", text
            continue
        raise AssertionError("nothing was raised")


def not_available(family):
    error = catch_error(openai.NotFoundError, lambda: client.responses.retrieve("resp_1"))
    assert (error.code, request_count) == ("response_not_found", 1)


def embeddings(family):
    model, vector = "text-embedding-3-small", [0.5, -0.5, 0.25]
    for fields in ({}, {"encoding_format": "float"}, {"dimensions": 3, "user": "ann"}):
        for texts in (["one", "two"], [[1, 2], [3]]):
            response = client.embeddings.create(model=model, input=texts, **fields)
            assert [item.embedding for item in response.data] == [vector, vector]
            assert response.usage.total_tokens == 2

    def embed_with_chat_model():
        return client.embeddings.create(model="other-plain", input="one")

    assert catch_error(openai.NotFoundError, embed_with_chat_model).code == "model_not_found"


def too_large(family):
    messages = [{"role": "user", "content": "x" * (40 * 2**20)}]
    error = catch_error(openai.APIStatusError, lambda: create(f"{family}-plain", messages=messages))
    assert error.status_code == 413


def not_retried(family):
    caller = create_client(context["limited"])
    error = catch_error(openai.RateLimitError, lambda: create(f"{family}-plain", caller))
    assert error.response.headers["x-should-retry"] == "false"
    assert request_count == 1


def retried(family):
    global request_count
    request_count = 0
    completion = create(f"{family}-plain")
    assert completion.choices[0].message.content == "Hello, world!"
    assert request_count == 2


def without_retries(family):
    caller = client.with_options(max_retries=0)
    catch_error(openai.RateLimitError, lambda: create(f"{family}-plain", caller))
    assert request_count == 1


def disconnect_from_stream(family):
    params = {"model": f"{family}-endless", "messages": hello, "max_completion_tokens": 5000}
    with completions.create(**params, stream=True) as stream:
        for _, _chunk in zip(range(20), stream):
            pass


def timeout_of_silent_request(family):
    caller = client.with_options(timeout=2.0, max_retries=0)
    catch_error(openai.APITimeoutError, lambda: create(f"{family}-mute", caller))


def assert_stream_error(model):
    text = ""
    try:
        for chunk in completions.create(model=model, messages=hello, stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError:
        assert text == " w1 w2 w3", text
        return
    raise AssertionError("nothing was raised")


def error_in_stream(family):
    assert_stream_error(f"{family}-broken")


def truncated_stream(family):
    assert_stream_error(f"{family}-cut")


run_scenarios(globals())
