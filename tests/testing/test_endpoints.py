"""Each endpoint, as a bare openai client sees it."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.testing import Reply, ToolCall
from tests.testing.conftest import CHAT, request_bytes

if TYPE_CHECKING:
    from tests.testing.conftest import Serve

OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]}},
        },
    },
}


def test_models(serve: Serve) -> None:
    """The two served models are listed."""
    models = serve().client.models.list().data

    assert [("deepseek-flash", "deepseek"), ("deepseek-v4-pro", "deepseek")] == [(m.id, m.owned_by) for m in models]


def test_balance(serve: Serve) -> None:
    """The balance has amounts in strings, and without money nothing is answered."""
    server = serve(balance={"USD": "1.50"})
    rich = server.client.get("/user/balance", cast_to=object)
    server.emulator.balance = {"USD": "0.00"}
    poor: Any = server.client.get("/user/balance", cast_to=object)

    info = {"currency": "USD", "total_balance": "1.50", "granted_balance": "0.00", "topped_up_balance": "1.50"}
    assert {"is_available": True, "balance_infos": [info]} == rich
    assert poor["is_available"] is False
    assert (402, "Insufficient Balance") == server.refusal()


@pytest.mark.parametrize("path", ["", "/v1", "/beta"])
def test_chat_is_served_under_three_roots(serve: Serve, path: str) -> None:
    """`/v1` works like the root, and the beta root knows chats too."""
    client = serve(replies="Hi.").connect(path)
    answer = client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "Hello"}])

    assert "Hi." == answer.choices[0].message.content


@pytest.mark.parametrize("path", ["/completions", "/v1/completions", "/beta/models", "/files", "/", "/models/x"])
def test_other_paths_are_not_found(serve: Serve, path: str) -> None:
    """They answer 404 with a body of another shape."""
    exchange = serve().exchange({}, path=path)

    assert 404 == exchange.status
    assert {"error_msg": "Not Found. Please check the configuration."} == json.loads(exchange.body)


def test_a_plain_answer(serve: Serve) -> None:
    """One JSON body with a thought, an answer, and a usage that adds up."""
    answer = serve(replies=Reply(content="Four.", reasoning="Two and two.")).ask()
    message, usage = answer.choices[0].message, answer.usage

    assert ("Four.", "Two and two.", "stop") == (
        message.content,
        message.reasoning_content,
        answer.choices[0].finish_reason,
    )
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.id)
    assert abs(answer.created - time.time()) < 5
    assert usage.prompt_tokens + usage.completion_tokens == usage.total_tokens
    assert usage.prompt_cache_hit_tokens + usage.prompt_cache_miss_tokens == usage.prompt_tokens
    assert 0 == usage.prompt_tokens_details.cached_tokens
    assert 0 < usage.completion_tokens_details.reasoning_tokens < usage.completion_tokens


def test_a_stream(serve: Serve) -> None:
    """The role comes first, then the thought, the answer, the finish reason with the usage, and [DONE]."""
    server = serve(replies=Reply(content="Four 四.", reasoning="Two and two."))
    exchange = server.exchange({**CHAT, "stream": True})
    *chunks, done = exchange.events
    found = [chunk["choices"][0]["delta"] for chunk in chunks]

    assert "[DONE]" == done
    assert {"role": "assistant", "content": None, "reasoning_content": ""} == found[0]
    assert "Two and two." == "".join(delta["reasoning_content"] or "" for delta in found)
    assert "Four 四." == "".join(delta["content"] or "" for delta in found)
    assert all(delta["content"] is None for delta in found if delta.get("reasoning_content"))
    assert ["stop"] == [c["choices"][0]["finish_reason"] for c in chunks if c["choices"][0]["finish_reason"]]
    assert [chunks[-1]] == [chunk for chunk in chunks if chunk.get("usage")]
    assert "text/event-stream" in exchange.head
    assert re.search(r"x-ds-trace-id: [0-9a-f]{32}", exchange.head)


def test_a_stream_without_thinking(serve: Serve) -> None:
    """Its first delta is an empty answer, and no delta has a thought."""
    found = [e["choices"][0]["delta"] for e in serve().exchange({**CHAT, **OFF, "stream": True}).events[:-1]]

    assert {"role": "assistant", "content": ""} == found[0]
    assert all("reasoning_content" not in delta for delta in found)


@pytest.mark.parametrize(
    ("shape", "asks", "on_finish", "on_its_own", "elsewhere"),
    [
        ("finish", False, True, False, False),
        ("finish", True, True, False, True),
        ("own_chunk", False, False, False, False),
        ("own_chunk", True, False, True, True),
        ("both", False, True, False, False),
        ("both", True, True, True, True),
    ],
)
def test_usage_of_streams(
    serve: Serve, shape: str, *, asks: bool, on_finish: bool, on_its_own: bool, elsewhere: bool
) -> None:
    """The usage stands where the server puts it; `include_usage` adds a null to every other chunk."""
    options = {"stream_options": {"include_usage": True}} if asks else {}
    *chunks, _ = serve(usage_shape=shape).exchange({**CHAT, "stream": True, **options}).events
    alone = [chunk for chunk in chunks if not chunk["choices"]]
    finishing = next(chunk for chunk in chunks if chunk["choices"] and chunk["choices"][0]["finish_reason"])

    assert on_finish == bool(finishing.get("usage"))
    assert on_its_own == bool(alone and alone[0]["usage"])
    assert elsewhere == ("usage" in chunks[0])
    assert chunks[0].get("usage") is None


def test_openai_accumulates_a_stream(serve: Serve) -> None:
    """The stream helper of openai understands every event."""
    server = serve(replies=Reply(tool_calls=[ToolCall("weather", {"city": "Paris", "days": 2})], reasoning="Hm."))
    messages: Any = [{"role": "user", "content": "Weather?"}]
    with server.client.chat.completions.stream(model="deepseek-flash", messages=messages, tools=[TOOL]) as stream:
        final = stream.get_final_completion()
    call = final.choices[0].message.tool_calls[0]  # type: ignore[index]

    assert ("weather", {"city": "Paris", "days": 2}) == (call.function.name, json.loads(call.function.arguments))
    assert "tool_calls" == final.choices[0].finish_reason


def test_fragments_of_tool_calls(serve: Serve) -> None:
    """The first fragment of a call has its index, id, type and name, the others only arguments."""
    calls = [ToolCall("weather", {"city": "巴黎"}), ToolCall("weather", chunks=['{"ci', 'ty": 1}'])]
    server = serve(replies=Reply(tool_calls=calls, reasoning=""))
    events = server.exchange({**CHAT, "stream": True, "tools": [TOOL]}).events[:-1]
    fragments = [f for e in events for f in e["choices"][0]["delta"].get("tool_calls", [])]
    heads = [fragment for fragment in fragments if "id" in fragment]

    assert [0, 1] == [head["index"] for head in heads]
    assert all(re.fullmatch(r"call_0\d_[0-9a-f]{24}", head["id"]) for head in heads)
    assert {"weather"} == {head["function"]["name"] for head in heads}
    assert [["index", "function"]] * (len(fragments) - 2) == [list(f) for f in fragments if "id" not in f]
    assert ["", '{"ci', 'ty": 1}'] == [f["function"]["arguments"] for f in fragments if f["index"] == 1]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
def test_a_forced_tool_is_called(serve: Serve, choice: Any) -> None:
    """Without a script, a request that insists on a tool gets a call with arguments made from the schema."""
    answer = serve().ask(tools=[TOOL], tool_choice=choice, extra_body=OFF)
    call = answer.choices[0].message.tool_calls[0]

    assert {"city": "text", "days": 1, "unit": "C"} == json.loads(call.function.arguments)
    assert ("tool_calls", "") == (answer.choices[0].finish_reason, answer.choices[0].message.content)


def test_json_mode(serve: Serve) -> None:
    """Without a script, an answer in JSON mode is JSON."""
    answer = serve().ask('Say "hi" as json', response_format={"type": "json_object"})

    assert {"echo": 'Say "hi" as json'} == json.loads(answer.choices[0].message.content)


@pytest.mark.parametrize("stream", [False, True])
def test_logprobs(serve: Serve, *, stream: bool) -> None:
    """Every token has a log probability, its bytes and as many alternatives as were asked for; the thought too."""
    server = serve(replies=Reply(content="Four 四", reasoning="Hm.", logprobs=[-0.5]))
    body = {**CHAT, "logprobs": True, "top_logprobs": 2, "stream": stream}
    exchange = server.exchange(body)
    choices = [e["choices"][0] for e in exchange.events[:-1]] if stream else json.loads(exchange.body)["choices"]
    entries = [entry for c in choices for entry in (c["logprobs"] or {}).get("content", [])]

    assert "Four 四" == "".join(entry["token"] for entry in entries)
    assert "Four 四".encode() == bytes(byte for entry in entries for byte in entry["bytes"])
    assert -0.5 == entries[0]["logprob"]
    assert all(entry["logprob"] < 0 and len(entry["top_logprobs"]) == 2 for entry in entries)
    assert any((c["logprobs"] or {}).get("reasoning_content") for c in choices)


def test_fill_in_the_middle(serve: Serve) -> None:
    """A beta client gets a completion of text, whole and as a stream."""
    server = serve(replies=["    return 1\n", "    return 1\n", None])
    options: dict[str, Any] = {"model": "deepseek-v4-pro", "prompt": "def f():\n", "suffix": "\nf()"}
    whole = server.beta.completions.create(**options, logprobs=1, echo=True)
    streamed = list(server.beta.completions.create(**options, stream=True))
    echoed = server.beta.completions.create(**options)

    assert "def f():\n    return 1\n" == whole.choices[0].text
    assert whole.choices[0].logprobs
    assert "    return 1\n" == "".join(chunk.choices[0].text for chunk in streamed)
    assert ("stop", 0) == (streamed[-1].choices[0].finish_reason, streamed[-1].usage.prompt_cache_hit_tokens)
    assert "text_completion" == streamed[0].object
    assert "def f()" in echoed.choices[0].text


def test_prefix_completion(serve: Serve) -> None:
    """A prefix is continued where the reply begins with it, and the thought is over."""
    server = serve(replies="One two three.")
    messages: Any = [{"role": "user", "content": "Count"}, {"role": "assistant", "content": "One two", "prefix": True}]
    answer = server.beta.chat.completions.create(model="deepseek-flash", messages=messages)

    assert (" three.", "") == (answer.choices[0].message.content, answer.choices[0].message.reasoning_content)  # type: ignore[attr-defined]


def test_a_thought_may_be_the_prefix(serve: Serve) -> None:
    """A thought that was cut is continued, then comes the answer."""
    server = serve(replies=Reply(content="Two.", reasoning="Let me think."))
    prefix = {"role": "assistant", "content": "", "reasoning_content": "Let me", "prefix": True}
    messages: Any = [{"role": "user", "content": "Count"}, prefix]
    message: Any = server.beta.chat.completions.create(model="deepseek-flash", messages=messages).choices[0].message

    assert (" think.", "Two.") == (message.reasoning_content, message.content)


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("deepseek-flash", "deepseek-flash"),
        ("deepseek-v4-flash", "deepseek-flash"),
        ("deepseek-v4-flash-vision-exp", "deepseek-flash"),
        ("deepseek-v4-pro", "deepseek-v4-pro"),
    ],
)
def test_aliases(serve: Serve, asked: str, served: str) -> None:
    """The answer names the model that served it."""
    assert served == serve().ask(model=asked).model


def test_max_tokens_cuts_the_thought_first(serve: Serve) -> None:
    """The thought eats from `max_tokens`; what does not fit is not written."""
    server = serve(replies=Reply(content="One two three four.", reasoning="Let me count to four."))
    only_thought, some_content = server.ask(max_tokens=3), server.ask(max_tokens=9)

    assert ("", "length", 3) == (
        only_thought.choices[0].message.content,
        only_thought.choices[0].finish_reason,
        only_thought.usage.completion_tokens,
    )
    assert 3 == only_thought.usage.completion_tokens_details.reasoning_tokens
    assert "One two three" == some_content.choices[0].message.content
    assert "length" == some_content.choices[0].finish_reason


def test_max_tokens_cuts_tool_calls(serve: Serve) -> None:
    """Arguments that do not fit are cut, which leaves broken JSON."""
    server = serve(replies=Reply(tool_calls=[ToolCall("weather", {"city": "Paris and London"})] * 2, reasoning=""))
    answer = server.ask(tools=[TOOL], max_tokens=27)
    none = server.ask(tools=[TOOL], max_tokens=5)

    assert "length" == answer.choices[0].finish_reason == none.choices[0].finish_reason
    assert not answer.choices[0].message.tool_calls[0].function.arguments.endswith("}")
    assert not none.choices[0].message.tool_calls


@pytest.mark.parametrize("stop", ["three", ["nothing", "three", "four"]])
def test_stop(serve: Serve, stop: Any) -> None:
    """The answer ends before the first stop sequence."""
    answer = serve(replies="One two three four.").ask(stop=stop)

    assert ("One two ", "stop") == (answer.choices[0].message.content, answer.choices[0].finish_reason)


@pytest.mark.parametrize(("stream", "sign"), [(True, b": keep-alive\n\n"), (False, b"\n")])
def test_keep_alives_before_the_first_token(serve: Serve, *, stream: bool, sign: bytes) -> None:
    """A wait is filled with comments or blank lines, and the answer is whole."""
    server = serve(replies=Reply(content="Hi", wait_s=0.2), keep_alive_s=0.05)
    exchange = server.exchange({**CHAT, "stream": stream})

    assert exchange.body.startswith(sign)
    assert exchange.is_whole
    assert b"Hi" in exchange.body
    assert "Hi" == server.ask().choices[0].message.content


def test_the_time_model_delays_the_answer(serve: Serve) -> None:
    """Reading the prompt and writing the tokens take the time that the speeds say."""
    server = serve(replies=Reply(content="word " * 20, reasoning=""), prefill_tokens_per_s=1000, tokens_per_s=200)
    prompt = "word " * 120
    server.client.models.list()
    began = time.monotonic()
    stream = server.ask(prompt, stream=True)
    next(stream)
    first = time.monotonic() - began
    rest = list(stream)
    total = time.monotonic() - began

    # Reading takes about 0.15 s, writing 0.1 s; a busy machine takes longer, never shorter.
    assert first > 0.14
    assert total - first > 0.07
    assert len(rest) > 20


def test_cached_tokens_are_read_in_no_time(serve: Serve) -> None:
    """Only the uncached part of a prompt takes time, and the usage says what was cached."""
    server = serve(prefill_tokens_per_s=2000, cache_delay_s=0)
    prompt = "word " * 400
    times, hits = [], []
    for _ in range(2):
        began = time.monotonic()
        usage = server.ask(prompt).usage
        times.append(time.monotonic() - began)
        hits.append((usage.prompt_cache_hit_tokens, usage.prompt_tokens_details.cached_tokens))

    assert [(0, 0), (384, 384)] == hits
    assert times[0] > 0.2
    assert times[1] < times[0]


@pytest.mark.parametrize("thinking", ["enabled", "disabled"])
def test_a_conversation_hits_the_output_of_its_last_turn(serve: Serve, thinking: str) -> None:
    """The next turn's prompt begins with the last one's input, and without thinking with its output too."""
    server = serve(replies="word " * 300, cache_delay_s=0, cache_interval_tokens=None)
    options: dict[str, Any] = {"extra_body": {"thinking": {"type": thinking}}}
    messages: list[Any] = [{"role": "user", "content": "word " * 300}]
    first = server.client.chat.completions.create(model="deepseek-flash", messages=messages, **options)
    messages += [first.choices[0].message, {"role": "user", "content": "again"}]
    second = server.client.chat.completions.create(model="deepseek-flash", messages=messages, **options)

    hit = second.usage.prompt_cache_hit_tokens
    assert (256 if thinking == "enabled" else 512) == hit
    assert hit == server.emulator.requests[1].cache_hit_tokens


def test_a_tool_turn_is_hit_with_its_reasoning(serve: Serve) -> None:
    """With tools the thought stays in the prompt, so the next turn hits the end of the output."""
    thought = "word " * 400
    server = serve(replies=[Reply(reasoning=thought, tool_calls=[ToolCall("weather")])], cache_delay_s=0)
    messages: list[Any] = [{"role": "user", "content": "Weather?"}]
    first = server.ask("", messages=messages, tools=[TOOL])
    messages += [
        first.choices[0].message,
        {"role": "tool", "tool_call_id": first.choices[0].message.tool_calls[0].id, "content": "sunny"},
    ]
    second = server.ask("", messages=messages, tools=[TOOL])

    assert second.usage.prompt_cache_hit_tokens >= 640


def test_users_and_models_do_not_share_prefixes(serve: Serve) -> None:
    """Another `user_id`, another key and another model miss."""
    server = serve(cache_delay_s=0)
    prompt = "word " * 400
    hits = [
        server.ask(prompt, **options).usage.prompt_cache_hit_tokens
        for options in (
            {},
            {},
            {"extra_body": {"user_id": "bob"}},
            {"model": "deepseek-v4-pro"},
            {"model": "deepseek-v4-flash"},
            {"reasoning_effort": "max"},
            {"extra_headers": {"authorization": "Bearer other"}},
        )
    ]

    assert [0, 384, 0, 0, 384, 0, 0] == hits


def test_new_prefixes_need_their_delay(serve: Serve) -> None:
    """A unit cannot be hit before its delay is over."""
    server = serve(cache_delay_s=60)
    prompt = "word " * 400

    assert [0, 0] == [server.ask(prompt).usage.prompt_cache_hit_tokens for _ in range(2)]


def test_forgetting(serve: Serve) -> None:
    """Records and prefixes can be dropped."""
    server = serve(cache_delay_s=0)
    prompt = "word " * 400
    server.ask(prompt)
    server.emulator.forget()

    assert 0 == server.ask(prompt).usage.prompt_cache_hit_tokens
    assert 1 == len(server.emulator.requests)


def test_the_concurrency_limit(serve: Serve) -> None:
    """A request beyond the limit is refused with a text that names both numbers."""
    server = serve(concurrency_limit=1, faults=["no_answer"])
    with server.socket() as peer:
        peer.sendall(request_bytes(CHAT))
        while not server.emulator.in_flight:
            time.sleep(0.001)
        status, message = server.refusal()
    assert server.emulator.wait_until_idle(1)

    assert 429 == status
    assert (
        "Your current concurrency is 2, which exceeds your concurrency limit of 1 based on your remaining balance. "
        "Please top up your balance to restore your concurrency."
    ) == message
    server.emulator.concurrency_limit = 5
    assert (5, server.ask().choices[0].finish_reason) == (server.emulator.concurrency_limit, "stop")


def test_keys(serve: Serve) -> None:
    """A wrong key is refused and masked, a missing one too, and the right one is let in."""
    server = serve(api_key="sk-right-1234")
    with pytest.raises(openai.AuthenticationError) as caught:
        server.connect(api_key="sk-wrong-abcd").models.list()
    body = caught.value.response.json()["error"]
    with pytest.raises(openai.AuthenticationError, match="auth header format should be Bearer"):
        server.client.models.list(extra_headers={"authorization": ""})

    assert re.match(r"Authentication Fails, Your api key: \*{4}abcd is invalid \(request_id: .+\)", body["message"])
    assert "authentication_error" == body["type"]
    assert server.connect(api_key="sk-right-1234").models.list().data


def test_everything_that_arrives_is_recorded(serve: Serve) -> None:
    """A record says what came, from where, and what became of it."""
    server = serve(faults=[None, "status_503"], seed=3)
    server.ask("Hi there", extra_headers={"X-Test": "1"})
    with pytest.raises(openai.InternalServerError):
        server.ask()
    server.refusal(model="nope")
    server.emulator.wait_until_idle()
    first, second, third = server.emulator.requests

    assert ("POST", "/chat/completions", "1") == (first.method, first.path, first.headers["x-test"])
    assert "Hi there" == first.body["messages"][0]["content"] == first.last_user_text
    assert ["answered", "status_503", "refused"] == [request.outcome for request in (first, second, third)]
    assert [200, 503, 400] == [request.status for request in (first, second, third)]
    assert first.arrived < first.finished < second.arrived  # type: ignore[operator]
    assert first.client == second.client
    assert 1 == server.emulator.connections
    assert first.prompt_tokens == first.cache_miss_tokens
    assert third.prompt_tokens is None is third.cache_miss_tokens
    assert "sk-test" not in repr(first)


def test_a_long_prompt_is_counted_off_the_loop(serve: Serve) -> None:
    """A body of a megabyte is answered like any other."""
    server = serve(replies="ok")

    assert server.ask("word " * 200_000).usage.prompt_tokens > 200_000


def test_effort_is_mapped(serve: Serve) -> None:
    """Efforts that mean the same render the same; no thinking renders no effort at all."""
    server = serve()
    counts = {
        e: server.ask(reasoning_effort=e).usage.prompt_tokens for e in ("low", "minimal", "medium", "high", "max")
    }
    off = server.ask(extra_body=OFF)

    assert counts["low"] == counts["minimal"]
    assert off.usage.prompt_tokens < counts["high"] == counts["medium"]
    assert not hasattr(off.choices[0].message, "reasoning_content")
