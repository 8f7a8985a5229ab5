"""instructor on top of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pydantic
import pytest

from deepseek_sdk import report
from deepseek_sdk.errors import OutputInvalidError, StreamInterruptedError, ToolChoiceInThinkingError
from deepseek_sdk.testing import Reply, ToolCall
from tests.frameworks.battery import (
    FORCED,
    MEETING,
    NO_THINKING,
    RIGHT,
    SCHEMA,
    TEXT,
    THINKING,
    WRONG,
    Battery,
    Meeting,
    Seat,
)

if TYPE_CHECKING:
    from collections.abc import Callable

instructor = pytest.importorskip("instructor")
RetryError: type[Exception] = pytest.importorskip("instructor.core.exceptions").InstructorRetryException


class Appointment(pydantic.BaseModel):
    """What can be invalid."""

    hour: int = pydantic.Field(le=23)


class Text(pydantic.BaseModel):
    """A text, so that what is asked for can be anything."""

    text: str


def question(prompt: str, model: Any = Meeting) -> dict[str, Any]:
    """Give the arguments of a call without thinking, as instructor forces a tool."""
    return {
        "model": "deepseek-flash",
        "messages": [{"role": "user", "content": prompt}],
        "response_model": model,
        "extra_body": NO_THINKING,
    }


class InstructorSeat(Seat):
    """`from_openai()`, in its own mode, TOOLS."""

    connection_error = (RetryError, StreamInterruptedError)  # what a sync stream raises is wrapped, an async one's not
    rate_error = RetryError

    @property
    def patched(self) -> Any:
        """The client as instructor changes it."""
        return instructor.from_openai(self.client).chat.completions

    @property
    def apatched(self) -> Any:
        """The other one."""
        return instructor.from_openai(self.aclient).chat.completions

    def ask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Ask for a text."""
        return str(self.patched.create(**question(prompt, Text), extra_headers=headers).text)

    async def aask(self, prompt: str, *, headers: dict[str, str] | None = None) -> str:
        """Do the same as a coroutine."""
        return str((await self.apatched.create(**question(prompt, Text), extra_headers=headers)).text)

    def stream(self, prompt: str) -> str:
        """Ask for partial texts and give the last."""
        *_, last = self.patched.create_partial(**question(prompt, Text))
        return str(last.text)

    async def astream(self, prompt: str) -> str:
        """Do the same as a coroutine."""
        partials = [partial async for partial in self.apatched.create_partial(**question(prompt, Text))]
        return str(partials[-1].text)

    def extract(self, prompt: str) -> Any:
        """Ask for a meeting."""
        return self.patched.create(**question(prompt))

    async def aextract(self, prompt: str) -> Any:
        """Do the same as a coroutine."""
        return await self.apatched.create(**question(prompt))


class TestInstructor(Battery):
    """`from_openai()`."""

    seat_type = InstructorSeat

    def test_partials_grow(self, sit: Callable[..., InstructorSeat]) -> None:
        """Partial objects come while the answer arrives."""
        texts = [partial.text or "" for partial in sit().patched.create_partial(**question("Count.", Text))]

        assert 2 < len(set(texts))
        assert texts == sorted(texts, key=len)

    @pytest.mark.parametrize("body", [{}, NO_THINKING])
    @pytest.mark.parametrize("mode", ["JSON", "MD_JSON"])
    def test_json_modes(self, mode: str, body: dict[str, Any], sit: Callable[..., InstructorSeat]) -> None:
        """The modes that take JSON from the text work while the model thinks, too."""
        seat = sit()
        seat.server.replies = MEETING.model_dump_json()
        patched = instructor.from_openai(seat.client, mode=getattr(instructor.Mode, mode))

        asked = {**question("When?"), "extra_body": body}
        assert MEETING.model_dump() == patched.chat.completions.create(**asked).model_dump()
        *_, last = patched.chat.completions.create_partial(**asked)
        assert MEETING.model_dump() == last.model_dump()

    @pytest.mark.parametrize("body", [{}, NO_THINKING])
    def test_json_schema(self, body: dict[str, Any], sit: Callable[..., InstructorSeat]) -> None:
        """The mode JSON_SCHEMA works, plain and streamed: the client asks in DeepSeek's words."""
        seat = sit()
        patched = instructor.from_openai(seat.client, mode=instructor.Mode.JSON_SCHEMA)

        asked = {**question("When?"), "extra_body": body}
        assert MEETING.model_dump() == patched.chat.completions.create(**asked).model_dump()
        *_, last = patched.chat.completions.create_partial(**asked)
        assert MEETING.model_dump() == last.model_dump()
        assert [SCHEMA] * 2 == seat.repairs

    def test_json_schema_that_stays_wrong(self, sit: Callable[..., InstructorSeat]) -> None:
        """The client asks once more; what does not fit then is an error, and instructor does not ask again."""
        seat = sit(replies=[WRONG, WRONG, RIGHT])
        patched = instructor.from_openai(seat.client, mode=instructor.Mode.JSON_SCHEMA)

        with pytest.raises(RetryError) as caught:
            patched.chat.completions.create(**question("When?"), max_retries=3)

        assert isinstance(caught.value.__cause__, OutputInvalidError)
        assert (1, 2) == (len(seat.watch.calls), len(seat.server.requests))

    def test_json_mode_counts_twice(self, sit: Callable[..., InstructorSeat]) -> None:
        """What is no JSON at all is asked for once more by the client, in each attempt of instructor's."""
        seat = sit(replies=["At three.", "At three.", RIGHT])
        patched = instructor.from_openai(seat.client, mode=instructor.Mode.JSON)

        found = patched.chat.completions.create(**question("When?"), max_retries=2)
        assert MEETING.model_dump() == found.model_dump()
        assert (2, 3) == (len(seat.watch.calls), len(seat.server.requests))

    def test_tools_switch_thinking_off(self, sit: Callable[..., InstructorSeat], driver: Any) -> None:
        """The mode TOOLS forces a tool: the model does not think then."""
        seat = sit()
        patched = seat.apatched if driver.is_async else seat.patched

        found = driver.call(patched.create, **{**question("When?"), "extra_body": None})
        assert MEETING.model_dump() == found.model_dump()
        assert ([FORCED], NO_THINKING["thinking"]) == (seat.repairs, seat.server.requests[0].body["thinking"])

    def test_chosen_thinking_forbids_tools(self, sit: Callable[..., InstructorSeat]) -> None:
        """Where thinking is asked for, it is not switched off: the call is refused, here."""
        with pytest.raises(RetryError) as caught:
            sit().patched.create(**{**question("When?"), "extra_body": THINKING})

        assert isinstance(caught.value.__cause__, ToolChoiceInThinkingError)

    def test_invalid_object_is_asked_for_again(self, sit: Callable[..., InstructorSeat], driver: Any) -> None:
        """What does not validate is asked for again by instructor, with the reason, in a call of its own."""
        seat = sit()
        seat.server.replies = [Reply(tool_calls=[ToolCall("Appointment", {"hour": hour})]) for hour in (99, 15)]
        patched = seat.apatched if driver.is_async else seat.patched

        found = driver.call(patched.create, **question("When?", Appointment), max_retries=2)
        assert 15 == found.hour
        assert "less than or equal to 23" in seat.server.requests[1].body["messages"][-1]["content"]
        assert [1, 1] == [len(each.record.attempts) for each in seat.watch.calls]

    def test_own_retries_are_for_validation_only(self, sit: Callable[..., InstructorSeat]) -> None:
        """A *max_retries* of instructor does not ask a busy server again; the client's does."""
        seat = sit(faults=["status_503"] * 20, max_retries=1)

        with pytest.raises(RetryError):
            seat.patched.create(**question("When?"), max_retries=5)

        assert 2 == len(seat.server.requests)

    def test_completion_has_a_report(self, sit: Callable[..., InstructorSeat]) -> None:
        """The completion that instructor gives beside the object has a report."""
        found, completion = sit().patched.create_with_completion(**question("When?"))

        assert MEETING.model_dump() == found.model_dump()
        assert ("default", 1) == (report(completion).route, len(report(completion).attempts))

    def test_from_deepseek(self, sit: Callable[..., InstructorSeat]) -> None:
        """`from_deepseek()` takes the client just as well."""
        patched = instructor.from_deepseek(sit().client)

        assert TEXT == patched.chat.completions.create(**question("Count.", Text)).text

    def test_patching_keeps_the_client(self, sit: Callable[..., InstructorSeat]) -> None:
        """The client that is wrapped stays as it was."""
        seat = sit()
        patched = instructor.from_openai(seat.client)

        assert patched.client is seat.client
        assert "create" not in vars(seat.client.chat.completions)

    def test_from_provider_builds_its_own(self) -> None:
        """`from_provider()` builds a bare client."""
        patched = instructor.from_provider("deepseek/deepseek-flash", api_key="any")

        assert openai.OpenAI is type(patched.client)
