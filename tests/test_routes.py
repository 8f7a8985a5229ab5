"""Chains of routes over real sockets, in both colours and on every surface of a call."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import openai
import pytest
from pydantic import BaseModel

from deepseek_sdk import (
    BreakerPolicy,
    Client,
    Deadlines,
    LimiterPolicy,
    RetryPolicy,
    Route,
    RuleEngine,
    options,
    report,
)
from deepseek_sdk.backends import Call, Reply, reply_from
from deepseek_sdk.errors import (
    CircuitOpenError,
    ConfigurationError,
    FirstTokenTimeout,
    StreamInterruptedError,
    classify,
)
from deepseek_sdk.stages import default_stages
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    answer,
    completion,
    delta,
    keep_alives,
    refusal,
    silence,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from tests.conftest import Driver, StartEmulator
    from tests.raw_server import Exchange

SURFACES = ["plain", "stream", "parse", "raw", "streaming raw", "helper"]
HELLO = [{"role": "user", "content": "Hello"}]


class Answer(BaseModel):
    """What `parse()` reads."""

    text: str


class Echo:
    """A backend that says what it was asked for."""

    name = "echo"

    async def __call__(self, call: Call) -> Reply:
        """Answer with the model."""

        async def generate(call: Call) -> AsyncGenerator[dict[str, Any], None]:
            yield {"choices": [{"index": 0, "delta": {"content": call.model}, "finish_reason": None}]}
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

        return reply_from(call, generate, route="echo")


def elsewhere(server: RawServer, model: str = "deepseek-v4-pro", **given: Any) -> Route:
    """Make a route to another endpoint."""
    return Route(model, base_url=server.url, api_key="other-key-000000", **given)


def asked(driver: Driver, client: Any, surface: str) -> tuple[str, Any]:
    """Make a call on one surface; give its text and what `report()` reads."""
    body: dict[str, Any] = {"model": "deepseek-flash", "messages": HELLO}
    completions = client.chat.completions
    if surface == "plain":
        found = driver.call(completions.create, **body)
        return found.choices[0].message.content, found
    if surface == "stream":
        found = driver.call(completions.create, **body, stream=True)
        return driver.stream_text(found), found
    if surface == "parse":
        found = driver.call(completions.parse, **body, response_format=Answer)
        return found.choices[0].message.parsed.text, found
    if surface == "raw":
        found = driver.call(completions.with_raw_response.create, **body)
        return driver.call(found.parse).choices[0].message.content, found
    if surface == "streaming raw":
        with driver.entered(completions.with_streaming_response.create(**body)) as found:
            return driver.call(found.parse).choices[0].message.content, found
    with driver.entered(completions.stream(**body)) as found:
        for _ in driver.iterate(found):
            pass
        return driver.call(found.get_final_completion).choices[0].message.content, found


def text_for(surface: str) -> str:
    """Give an answer that the surface can read."""
    return '{"text": "Hi"}' if surface == "parse" else "Hi"


FAILURES: dict[str, tuple[Callable[..., Any], str]] = {
    "refused": (refusal(503, "busy"), "overloaded"),
    "cut before content": (stream(ROLE, end="close"), "interrupted"),
    "reset before content": (stream(ROLE, end="reset"), "interrupted"),
    "error event": (stream(ROLE, b'data: {"error": {"message": "busy"}}\n\n'), "server_event"),
    "keep-alives": (keep_alives(0.05), "first_token_timeout"),
    "silence": (silence, "first_token_timeout"),
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", FAILURES)
def test_another_route_answers(driver: Driver, name: str, surface: str) -> None:
    """Whatever fails before the first content, on every surface, another route's answer is all that is seen."""
    failing, reason = FAILURES[name]
    with RawServer(failing) as first, RawServer(stream(*answer(text_for(surface)))) as second:
        # Only where it is this clock that ends the wait is it a short one.
        deadlines = Deadlines(first_token=0.5) if reason == "first_token_timeout" else None
        client = driver.client(base_url=first.url, routes=[elsewhere(second)], deadlines=deadlines, max_retries=0)
        text, found = asked(driver, client, surface)

    assert "Hi" == text
    told = report(found)
    assert [("default", reason), ("deepseek-v4-pro", None)] == [(a.route, a.reason) for a in told.attempts]
    assert "deepseek-v4-pro" == second.requests[0].body["model"]


def test_the_same_policy_holds_for_every_surface(driver: Driver) -> None:
    """One fault leads to as many attempts, and to the same route, whichever way the call is made."""
    counts = set()
    for surface in SURFACES:
        with RawServer(refusal(500, "no")) as first, RawServer(stream(*answer(text_for(surface)))) as second:
            client = driver.client(base_url=first.url, routes=[elsewhere(second)])
            _, found = asked(driver, client, surface)
            counts.add((len(first.requests), len(second.requests), report(found).route))

    assert {(1, 1, "deepseek-v4-pro")} == counts


def test_after_content_was_shown_nobody_takes_over(driver: Driver) -> None:
    """A stream that is cut after content raises, with what had come."""
    with RawServer(stream(ROLE, delta(content="He"), end="close")) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)])
        with pytest.raises(StreamInterruptedError) as caught:
            driver.stream_text(driver.create(client, stream=True))

    assert ("He", []) == (caught.value.partial.text, second.requests)


def test_a_stall_of_a_plain_call_is_another_routes_turn(driver: Driver) -> None:
    """A plain call is folded from a stream while another route could take over, so a stall in it can be seen."""
    script = stream(ROLE, delta(content="wrong"), end="hold")
    with RawServer(script) as first, RawServer(whole(completion("right"))) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)], deadlines=Deadlines(stall=0.3))
        found = driver.create(client)

    assert "right" == found.choices[0].message.content
    assert ["stall", None] == [attempt.reason for attempt in report(found).attempts]
    assert 1 == report(found).possibly_billed_attempts


def test_keys_and_headers_stay_where_they_belong(driver: Driver) -> None:
    """Another endpoint gets its own key, and neither the client's key and headers nor the call's authorization."""
    with RawServer(refusal(503, "busy")) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(
            api_key="own-key-1234567",
            base_url=first.url,
            default_headers={"X-Corporate": "secret"},
            routes=[elsewhere(second)],
            max_retries=0,
        )
        driver.create(client, extra_headers={"Authorization": "Bearer extra", "X-Trace": "t"})

    own, other = first.requests[0].headers, second.requests[0].headers
    assert ("Bearer extra", "secret") == (own["authorization"], own["x-corporate"])
    assert ("Bearer other-key-000000", "t") == (other["authorization"], other["x-trace"])
    assert "x-corporate" not in other
    assert own["user-agent"] == other["user-agent"]


def test_an_error_holds_no_key_of_any_route(driver: Driver) -> None:
    """Where a server repeats the key that it was sent, the caller's error does not."""
    with (
        RawServer(refusal(503, "own-key-1234567 is busy")) as first,
        RawServer(refusal(400, "bad, other-key-000000")) as second,
    ):
        client = driver.client(api_key="own-key-1234567", base_url=first.url, routes=[elsewhere(second)], max_retries=0)
        with pytest.raises(openai.BadRequestError) as caught:
            driver.create(client)

    shown = f"{caught.value!r} {caught.value.body} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert "other-key" not in shown
    assert "own-key" not in shown


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("deepseek-flash", ["default:deepseek-flash", "v4:deepseek-v4-pro", "small:other-model"]),
        ("v4", ["v4:deepseek-v4-pro", "small:other-model"]),
        ("deepseek-v4-pro", ["v4:deepseek-v4-pro", "small:other-model"]),
        ("small", ["small:other-model"]),
        ("auto", ["v4:deepseek-v4-pro", "small:other-model"]),
    ],
)
def test_the_model_says_where_the_call_starts(driver: Driver, model: str, expected: list[str]) -> None:
    """A route's name or model starts there; another model is asked for at the client's own endpoint first."""
    with RawServer(refusal(503, "busy")) as server:
        routes = [Route("deepseek-v4-pro", name="v4"), elsewhere(server, "other-model", name="small")]
        client = driver.client(base_url=server.url, routes=routes, max_retries=0)
        with pytest.raises(openai.InternalServerError) as caught:
            driver.create(client, model=model)

    assert expected == [f"{attempt.route}:{attempt.model}" for attempt in report(caught.value).attempts]


def test_auto_without_routes_is_the_default_model(driver: Driver) -> None:
    """A client without routes asks its endpoint for deepseek-flash."""
    with RawServer(whole(completion("Hi"))) as server:
        driver.create(driver.client(base_url=server.url), model="auto")

    assert "deepseek-flash" == server.requests[0].body["model"]


def test_routes_may_be_chosen_for_some_calls(driver: Driver) -> None:
    """`with_options(routes=)` and `options(routes=)` go over the client's routes."""
    with RawServer(refusal(503, "busy")) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(base_url=first.url, max_retries=0)
        child = client.with_options(routes=[elsewhere(second)])

        assert "Hi" == driver.create(child).choices[0].message.content
        with options(routes=[Echo()]):
            assert "echo" == driver.create(client).choices[0].message.content
        with pytest.raises(openai.InternalServerError):
            driver.create(child.with_options(routes=[]))


def test_a_first_token_deadline_moves_on_in_time(driver: Driver) -> None:
    """Keep-alives do not put off the clock; the fallback's answer is there soon after."""
    with RawServer(keep_alives(0.1)) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)], deadlines=Deadlines(first_token=0.5))
        started = time.monotonic()
        found = driver.create(client, stream=True)
        text = driver.stream_text(found)
        took = time.monotonic() - started

        assert ("Hi", True) == (text, first.wait_for_abort())
    assert 0.5 <= took < 4


def test_a_slow_but_living_stream_is_not_left(driver: Driver) -> None:
    """Reasoning resets the stall clock: a stream that thinks aloud, slowly, is read to its end."""

    def script(exchange: Any) -> None:
        exchange.head(content_type="text/event-stream", transfer_encoding="chunked")
        exchange.chunks(ROLE)
        for _ in range(6):
            exchange.pause(0.15)
            exchange.chunks(delta(reasoning_content="hm "))
        exchange.chunks(delta(content="Hi"), FINISH, DONE)
        exchange.send(b"0\r\n\r\n")

    with RawServer(script) as first, RawServer(stream(*answer("wrong"))) as second:
        deadlines = Deadlines(first_token=1, stall=0.5)
        client = driver.client(base_url=first.url, routes=[elsewhere(second)], deadlines=deadlines)

        assert "Hi" == driver.stream_text(driver.create(client, stream=True))
    assert [] == second.requests


def test_a_backend_is_a_route_like_any_other(driver: Driver) -> None:
    """A chain may lead from an endpoint to a backend of this process, and from there to an endpoint."""
    with RawServer(refusal(503, "busy")) as server:
        client = driver.client(base_url=server.url, routes=[Route("local", backend=Echo())], max_retries=0)
        found = driver.create(client)

    assert ("local", "local") == (found.choices[0].message.content, found.model)
    assert "local" == report(found).route


def test_raw_responses_name_the_route(driver: Driver) -> None:
    """Headers say who answered, also where the name is no ASCII."""
    with RawServer(refusal(503, "busy")) as first, RawServer(stream(*answer("Hi"))) as second:
        routes = [elsewhere(second, name="备用 1")]
        client = driver.client(base_url=first.url, routes=routes, max_retries=0)
        raw = driver.call(
            client.chat.completions.with_raw_response.create, model="deepseek-flash", messages=HELLO, stream=True
        )

    assert "%E5%A4%87%E7%94%A8%201" == raw.headers["x-deepseek-sdk-route"]
    assert "2" == raw.headers["x-deepseek-sdk-attempts"]


def test_raw_streams_name_the_route_that_answers_in_the_end(driver: Driver) -> None:
    """Where another route takes over before the first content, headers and report say the same."""
    with RawServer(stream(ROLE, end="close")) as first:
        client = driver.client(base_url=first.url, routes=[RuleEngine([], default="Later.")], max_retries=0)
        create = client.chat.completions.with_raw_response.create
        raw = driver.call(create, model="deepseek-flash", messages=HELLO, stream=True)
        before = raw.headers["x-deepseek-sdk-route"]
        assert "Later." == driver.stream_text(raw.parse())

    told = [raw.headers[f"x-deepseek-sdk-{name}"] for name in ("route", "model", "attempts", "degraded")]
    assert ("default", ["rules", "rules", "2", "3"]) == (before, told)


@pytest.mark.parametrize("way", ["offline", "offline with a key", "no key"])
def test_a_client_without_an_endpoint_opens_no_socket(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Offline, or without a key and with a backend, every call is answered in the process, or by an error."""
    key = "a-key-that-would-do" if way == "offline with a key" else None
    given: dict[str, Any] = {"api_key": key, "routes": [Route("local", backend=Echo())]}
    client = driver.client(**given, **({"offline": True} if way != "no key" else {}))
    driver.create(client)  # an event loop has a socket of its own
    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", _forbidden)

        assert "local" == driver.create(client, model="gpt-unknown").choices[0].message.content
        assert "local" == driver.stream_text(driver.create(client, model="auto", stream=True))
        with pytest.raises(ConfigurationError, match=r"for which there is no key|the client is offline"):
            driver.call(client.models.retrieve, "x")
        with options(routes=[]), pytest.raises(ConfigurationError, match="there is nobody to ask"):
            driver.create(client)
        if way != "no key":
            other = Route("x", base_url="http://127.0.0.1:9", api_key="k")
            with options(routes=[other]), pytest.raises(ConfigurationError, match="the client is offline"):
                driver.create(client)


def _forbidden(*_: Any, **__: Any) -> Any:
    pytest.fail("a socket was opened")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"offline": True}, "offline=True leaves nothing that could answer"),
        ({"offline": True, "routes": ["deepseek-flash"]}, "asks an endpoint, and the client is offline"),
        ({"backend": Echo(), "api_key": None, "routes": ["deepseek-flash"]}, "for which the client has no key"),
        ({"routes": ["deepseek-chat"]}, "deepseek-chat was retired on 2026-07-24; use deepseek-flash"),
        ({"routes": [Route("x", backend="missing")]}, "there is no backend 'missing'"),
        ({"routes": "deepseek-flash"}, "routes must be a list of routes"),
        ({"retry": 3}, "retry must be a RetryPolicy or None, not 3"),
        ({"breaker": 3}, "breaker must be a BreakerPolicy, the Breakers of another client, or None, not 3"),
        ({"limiter": 3}, "limiter must be a LimiterPolicy, the Limiters of another client, or None, not 3"),
        ({"stages": [], "breaker": None, "limiter": None}, "stages is the whole pipeline"),
    ],
)
def test_a_chain_is_checked_when_the_client_is_made(driver: Driver, given: dict[str, Any], text: str) -> None:
    """What could never answer is refused before the first emergency."""
    with pytest.raises(ConfigurationError) as caught:
        driver.client(**given)

    assert text in str(caught.value)


def test_check_asks_each_endpoint_for_its_models(driver: Driver, emulator: StartEmulator) -> None:
    """A route whose model is not served is named, with what is served; one that cannot be reached is, too."""
    server = emulator()
    routes = [
        Route("deepseek-v4-pro"),
        Route("deepseek-v4-flash"),
        Route("deepseek-chat"),
        Route("gone", base_url="http://127.0.0.1:9", api_key="k"),
        Route("local", backend=Echo()),
    ]
    client = driver.client(base_url=server.url, routes=routes)
    found = {check.route: check for check in driver.call(client.check)}

    assert ["default", "deepseek-v4-pro", "deepseek-v4-flash", "deepseek-chat", "gone", "local"] == list(found)
    assert {"deepseek-chat", "gone"} == {name for name, check in found.items() if not check.is_good}
    assert "deepseek-chat was retired on 2026-07-24; the endpoint serves deepseek-flash, deepseek-v4-pro" == (
        found["deepseek-chat"].problem
    )
    assert "does not say which models it serves" in str(found["gone"].problem)


def test_health_names_routes_and_what_is_known_of_them(driver: Driver) -> None:
    """The own endpoint comes first, then the routes in their order; no key is shown."""
    with RawServer(refusal(503, "busy")) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second), Echo()], max_retries=0)
        driver.create(client)
        health = client.health()

    assert [("default", 1, 1), ("deepseek-v4-pro", 1, 0), ("echo", 0, 0)] == [
        (route.route, route.calls, route.failures) for route in health.routes
    ]
    assert health.is_healthy
    assert "other-key" not in repr(health)


def test_an_empty_answer_may_be_an_answer(driver: Driver) -> None:
    """`on_empty="accept"` hands out an answer without a word, in either way of reading."""
    with RawServer(stream(ROLE, FINISH, DONE), whole(completion(""))) as server:
        client = driver.client(base_url=server.url, on_empty="accept")

        assert "" == driver.stream_text(driver.create(client, stream=True))
        assert "" == driver.create(client).choices[0].message.content
    assert 2 == len(server.requests)


def test_routes_with_keys_of_their_own_need_no_other(driver: Driver) -> None:
    """Without a key of its own a client is its routes, also where these ask endpoints."""
    with RawServer(refusal(503, "busy")) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(api_key=None, routes=[elsewhere(first, name="a"), elsewhere(second, name="b"), Echo()])
        found = driver.create(client, model="deepseek-flash")

    assert ("Hi", "b") == (found.choices[0].message.content, report(found).route)


@pytest.mark.parametrize("given", [{"routes": True}, {"backend": True}])
def test_a_last_resort_is_marked_wherever_it_stands(driver: Driver, given: dict[str, Any]) -> None:
    """Rules that are asked first, or alone, are no model either."""
    rules = RuleEngine([], default="Later.")
    given = {"routes": [rules], "offline": True} if "routes" in given else {"backend": rules}
    client = driver.client(api_key=None, **given)

    assert 3 == report(driver.create(client)).degradation


def test_what_opened_the_circuit_is_what_the_caller_learns(driver: Driver) -> None:
    """Where a circuit opens between two attempts of a call, its error is the server's."""
    with RawServer(refusal(503, "busy")) as server:
        policy = BreakerPolicy(consecutive_failures=1)
        client = driver.client(base_url=server.url, breaker=policy, max_retries=2, retry=RetryPolicy(first_wait=0))
        with pytest.raises(openai.InternalServerError):
            driver.create(client)
        with pytest.raises(CircuitOpenError):
            driver.create(client)

    assert 1 == len(server.requests)


def test_a_pipeline_of_ones_own_shows_its_own_breakers(driver: Driver) -> None:
    """`client.breakers` and `client.limiters` are those that the stages use."""
    stages = default_stages()
    with RawServer(refusal(503, "busy")) as server:
        client = driver.client(base_url=server.url, stages=stages, max_retries=0)
        with pytest.raises(openai.InternalServerError):
            driver.create(client)

        assert [1] == [breaker.failures for breaker in client.breakers]
        assert [64] == [limiter.limit for limiter in client.limiters]
    assert not driver.client(stages=[]).breakers.is_on
    assert () == driver.client(stages=[]).health().routes


def test_an_open_circuit_is_left_whatever_the_route_says(driver: Driver) -> None:
    """A route that names the errors to move on after is left, too, once these have opened its circuit."""
    with RawServer(refusal(503, "busy")) as first, RawServer(stream(*answer("Hi"))) as second:
        routes = [Route("deepseek-flash", move_on={"overloaded"}), elsewhere(second)]
        client = driver.client(base_url=first.url, routes=routes, max_retries=0)
        answers = [driver.create(client).choices[0].message.content for _ in range(7)]

    assert (["Hi"] * 7, 5) == (answers, len(first.requests))


def test_the_cause_of_an_error_is_its_own(driver: Driver) -> None:
    """Where a later route was not asked, the earlier one's error reaches the caller with its own cause."""
    client = driver.client(
        base_url="http://127.0.0.1:9", routes=[Route("b", base_url="http://127.0.0.1:9", api_key="k")]
    )
    client = client.with_options(max_retries=0)
    for breaker in [client.breakers[route.account] for route in client.health().routes]:
        breaker.open()
    with pytest.raises(openai.APIConnectionError) as caught:
        driver.create(client)

    assert "ConnectError" == type(caught.value.__cause__).__name__
    assert "connection" == classify(caught.value).reason


@pytest.mark.parametrize("way", ["child", "context"])
def test_a_route_with_another_key_follows_the_client(driver: Driver, way: str) -> None:
    """Another account at the same endpoint is asked where the child's endpoint is, with the child's timeout."""
    with RawServer(silence) as first, RawServer(refusal(401, "no"), stream(*answer("Hi"))) as second:
        routes = [Route("deepseek-flash", name="other", api_key="other-key-000000")]
        client = driver.client(base_url=first.url, **({"routes": routes} if way == "child" else {}), max_retries=0)
        child = client.with_options(base_url=second.url, timeout=5)
        with options(**({} if way == "child" else {"routes": routes})):
            found = driver.create(child, model="m")

    assert ("Hi", "other") == (found.choices[0].message.content, report(found).route)
    assert ["Bearer test-key", "Bearer other-key-000000"] == [r.headers["authorization"] for r in second.requests]
    with RawServer(silence) as server:
        client = driver.client(routes=[elsewhere(server)], max_retries=0, timeout=30)
        with pytest.raises(openai.APITimeoutError):
            driver.create(client.with_options(timeout=0.2), model="deepseek-v4-pro")


def test_what_is_meant_for_one_endpoint_is_not_sent_to_another(driver: Driver) -> None:
    """Headers that no list knows, and the query, stay with the client's endpoint; with another key there, they go."""
    with RawServer(refusal(401, "no")) as first, RawServer(stream(*answer("Hi"))) as second:
        routes = [Route("a", api_key="other-key-000000"), elsewhere(second)]
        client = driver.client(base_url=first.url, routes=routes, max_retries=0)
        driver.create(client, extra_headers={"X-Auth-Token": "t", "traceparent": "p"}, extra_query={"key": "q"})

    own, other_key, other = (*first.requests, *second.requests)
    assert ["t", "t", None] == [request.headers.get("x-auth-token") for request in (own, other_key, other)]
    assert ["p", "p", "p"] == [request.headers.get("traceparent") for request in (own, other_key, other)]
    assert [True, True, False] == ["key=q" in request.target for request in (own, other_key, other)]


def test_functions_that_give_keys_are_accounts_of_their_own(driver: Driver) -> None:
    """A key that is refused leads to the next route, also where both keys come from functions."""

    def first_key() -> str:
        return "first-key-000000"

    def second_key() -> str:
        return "second-key-00000"

    async def async_first() -> str:
        return first_key()

    async def async_second() -> str:
        return second_key()

    keys: Any = (async_first, async_second) if driver.is_async else (first_key, second_key)
    with RawServer(refusal(402, "Insufficient Balance"), stream(*answer("Hi"))) as server:
        routes = [Route(f"m{n}", base_url=server.url, api_key=key) for n, key in enumerate(keys)]
        client = driver.client(routes=routes)

        assert "Hi" == driver.create(client, model="m0").choices[0].message.content
    assert ["Bearer first-key-000000", "Bearer second-key-00000"] == [
        request.headers["authorization"] for request in server.requests
    ]


def test_auto_with_a_last_resort_alone_asks_the_own_endpoint(driver: Driver) -> None:
    """Rules are no choice while there is an endpoint; without any route it is the same."""
    with RawServer(whole(completion("Hi")), refusal(503, "busy")) as server:
        client = driver.client(base_url=server.url, routes=[RuleEngine([], default="Later.")], max_retries=0)
        answers = [driver.create(client, model="auto").choices[0].message.content for _ in range(2)]
        bare = driver.client(base_url=server.url, routes=[], max_retries=0)
        with pytest.raises(openai.InternalServerError):
            driver.create(bare, model="auto")

    assert ["Hi", "Later."] == answers
    assert {"deepseek-flash"} == {request.body["model"] for request in server.requests}


@pytest.mark.parametrize("text", ["your concurrency limit of {}", "maximum context length is {} tokens"])
def test_a_number_without_end_is_no_bug_of_ours(driver: Driver, text: str) -> None:
    """What a server writes into an error must not keep the next route from answering."""
    status = 429 if "concurrency" in text else 400
    with RawServer(refusal(status, text.format("9" * 6000))) as first, RawServer(stream(*answer("Hi"))) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second, context_window=10**19)], max_retries=0)

        assert "Hi" == driver.create(client).choices[0].message.content


def test_a_forgotten_key_is_told_although_rules_could_answer() -> None:
    """Rules alone do not make a client that has no key an offline one, unless that was asked for."""
    rules = RuleEngine([], default="Later.")
    with pytest.raises(ConfigurationError, match="there is no key"):
        Client(routes=[rules])

    answer_ = Client(routes=[rules], offline=True).chat.completions.create(model="m", messages=HELLO)  # type: ignore[arg-type]
    assert "Later." == answer_.choices[0].message.content


@pytest.mark.parametrize(
    ("routes", "warned"),
    [
        ([Route("deepseek-flash", base_url="http://a.invalid", api_key="k")], True),
        ([Route("deepseek-flash", name="spare", api_key="k")], True),
        ([Route("deepseek-flash"), Route("deepseek-flash", api_key="k")], False),
        ([Route("qwen3", base_url="http://a.invalid", api_key="k")], False),
        ([Route("deepseek-v4-pro")], False),
    ],
)
def test_who_hides_the_own_endpoint_is_warned(
    routes: list[Route], caplog: pytest.LogCaptureFixture, *, warned: bool
) -> None:
    """A route elsewhere for a model of the service takes its calls: that may be unmeant."""
    with Client(api_key="k", routes=routes) as client:
        client.with_options(timeout=3)

    assert (["begin at the route" in record.message for record in caplog.records] == [True]) is warned


def test_a_traceback_says_all_that_was_asked(driver: Driver) -> None:
    """The last error of a chain has a note of every attempt, and of what was not asked."""
    with RawServer(refusal(503, "busy")) as first, RawServer(refusal(401, "no")) as second:
        routes = [elsewhere(second, name="spare"), Route("gone", base_url="http://127.0.0.1:9", api_key="k")]
        client = driver.client(base_url=first.url, routes=routes, max_retries=0)
        client.breakers[client.health().routes[-1].account].open()
        with pytest.raises(openai.AuthenticationError) as caught:
            driver.create(client)

    assert [
        "Asked: default (overloaded), spare (authentication), gone (not asked: circuit_open)"
    ] == caught.value.__notes__


def cut_refusal(exchange: Exchange) -> None:
    """Refuse, and break off in the middle of saying why."""
    exchange.head(503, content_type="application/json", content_length="500")
    exchange.send(b'{"error":')
    exchange.close()


def reset_refusal(exchange: Exchange) -> None:
    """Refuse, and reset the connection in the middle of saying why."""
    exchange.head(503, content_type="application/json", content_length="500")
    exchange.send(b'{"error":')
    exchange.reset()


def garbled_refusal(exchange: Exchange) -> None:
    """Refuse, and say why in a gzip that is none."""
    exchange.head(503, content_type="application/json", content_length="5", content_encoding="gzip")
    exchange.send(b"notgz")


def endless_refusal(exchange: Exchange) -> None:
    """Refuse, and never say why."""
    exchange.head(503, content_type="application/json", content_length="500")
    exchange.hold()


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("script", [cut_refusal, reset_refusal, garbled_refusal, endless_refusal])
def test_a_refusal_that_cannot_be_read_is_a_refusal(driver: Driver, script: Any, *, is_stream: bool) -> None:
    """Whatever happens to its text, its status leads to the next route, or to openai's error for it."""
    with RawServer(script) as first, RawServer(stream(*answer("Hi"))) as second:
        given = {"base_url": first.url, "max_retries": 0, "deadlines": Deadlines(first_token=0.5)}
        found = driver.create(driver.client(**given, routes=[elsewhere(second)]), stream=is_stream)
        text = driver.stream_text(found) if is_stream else found.choices[0].message.content
        with pytest.raises((openai.InternalServerError, FirstTokenTimeout)) as caught:
            driver.create(driver.client(**given), stream=is_stream)

    assert "Hi" == text
    assert report(caught.value).attempts[0].reason in {"overloaded", "first_token_timeout"}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html></html>", "its answer is no list of models"),
        (b"[]", "its answer is no list of models"),
        (b'{"object":"list","data":[]}', "the endpoint's list of models is empty"),
        (b'{"object":"list","data":[5,null]}', "its answer is no list of models"),
    ],
)
def test_a_check_survives_nonsense(driver: Driver, body: bytes, problem: str) -> None:
    """An endpoint that answers nonsense is named, and the others are asked all the same; no key is shown."""

    def script(exchange: Exchange) -> None:
        exchange.head(200, content_type="application/json", content_length=str(len(body)))
        exchange.send(body)

    with RawServer(script) as first, RawServer(refusal(401, "no other-key-000000 here")) as second:
        client = driver.client(base_url=first.url, routes=[elsewhere(second)])
        own, other = driver.call(client.check)

    assert problem in str(own.problem)
    assert "other-key" not in str(other.problem)
    assert "401" in str(other.problem)


def test_rules_that_always_answer_stand_last() -> None:
    """What stands behind a default reply would never be asked; rules without one may stand anywhere."""
    with pytest.raises(ConfigurationError, match="nothing behind 'rules' would ever be asked"):
        Client(api_key="k", routes=[RuleEngine([], default="Later."), "deepseek-v4-pro"])

    Client(api_key="k", routes=[RuleEngine([], default=None), "deepseek-v4-pro"]).close()


def test_a_lone_client_says_what_it_did_not_ask(driver: Driver) -> None:
    """A call that the breaker holds back has no attempt, and says so; the error names the reason."""
    with RawServer(refusal(503, "busy")) as server:
        client = driver.client(base_url=server.url, breaker=BreakerPolicy(consecutive_failures=1), max_retries=0)
        with pytest.raises(openai.InternalServerError):
            driver.create(client)
        with pytest.raises(CircuitOpenError, match=r"is open \(consecutive failures\)") as caught:
            driver.create(client)

    told = report(caught.value)
    assert ((), (("default", "circuit_open"),)) == (told.attempts, told.skipped)


def test_as_many_retries_as_were_asked_for(driver: Driver) -> None:
    """A call may have the retries that it says itself; where the budget ends them, the error says so."""
    fast = RetryPolicy(first_wait=0)
    with RawServer(*[refusal(503, "busy")] * 5, whole(completion("Hi"))) as server:
        client = driver.client(base_url=server.url, max_retries=5, retry=fast)
        assert "Hi" == driver.create(client).choices[0].message.content
    with RawServer(refusal(503, "busy")) as server:
        client = driver.client(base_url=server.url, max_retries=2, retry=fast, breaker=None)
        notes: list[Any] = []
        for _ in range(3):
            with pytest.raises(openai.InternalServerError) as caught:
                driver.create(client)
            notes.append(getattr(caught.value, "__notes__", []))

    assert [[], 1] == [notes[0], len(notes[2])]
    assert "retries of the last minute are used up" in notes[2][0]


def test_a_limit_is_learnt_when_a_call_is_accepted(driver: Driver) -> None:
    """The limit rises while long answers are still on their way: a server refuses what is too much at once."""
    with RawServer(stream(ROLE, delta(content="H"), end="hold")) as server:
        client = driver.client(base_url=server.url, limiter=LimiterPolicy(initial=1), max_retries=0)
        opened = [driver.create(client, stream=True) for _ in range(4)]
        limit = next(iter(client.limiters)).limit
        for one in opened:
            driver.call(one.close)

    assert limit > 4
