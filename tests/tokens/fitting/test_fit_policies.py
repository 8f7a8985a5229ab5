from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.errors import ContextOverflowError
from deepseek_sdk.tokens.counter import Counter
from deepseek_sdk.tokens.fitting import CutMemory, Fit, Removed, TokenBudget, fit
from tests.tokens.fitting.world import TOOLS, SimpleCounter, assistant, chat, judge, step, system, user

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCUMENT = "\n\n".join(f"Paragraph {n} says that number {n * 7} is lucky. Nobody knows why." for n in range(300))
CHINESE = "\n\n".join(f"第{n}段：{n * 7}号的颜色很特别。没有人知道为什么。" for n in range(300))


def fitted(body: dict[str, Any], limit: int | None = None, **options: Any) -> Fit:
    """Fit a request by the simple counter."""
    return fit(body, TokenBudget(limit=limit, **options), SimpleCounter())


def size(body: dict[str, Any]) -> int:
    """Count a request."""
    return SimpleCounter().count(body).total


def test_error_raises_with_the_numbers() -> None:
    """By default nothing is left out: the error says how long the prompt is and how long it may be."""
    body = chat(user(DOCUMENT))

    with pytest.raises(ContextOverflowError, match="9006 tokens, and the token budget allows 1000") as caught:
        fitted(body, 1000)

    assert (1000, 9006, 9006, None) == (
        caught.value.limit,
        caught.value.requested,
        caught.value.in_messages,
        caught.value.in_completion,
    )


def test_window_is_the_limit_where_there_is_none() -> None:
    """Without a limit a prompt may have the window of the model, less the answer; the error names the window."""
    body = chat(user(DOCUMENT), max_tokens=1_048_000)

    with pytest.raises(ContextOverflowError, match="maximum context length is 1048565 tokens") as caught:
        fitted(body)

    assert (1_048_565, 9006 + 1_048_000, 9006, 1_048_000) == (
        caught.value.limit,
        caught.value.requested,
        caught.value.in_messages,
        caught.value.in_completion,
    )
    assert fitted(chat(user(DOCUMENT))).messages[0]["content"] is DOCUMENT


def test_unknown_window_is_no_limit() -> None:
    """A model whose window nobody knows takes what it is given."""
    body = {**chat(user(DOCUMENT)), "model": "other"}

    assert (None, False, body["messages"]) == (fitted(body).limit, fitted(body).is_changed, fitted(body).messages)


@pytest.mark.parametrize("document", [DOCUMENT, CHINESE], ids=["en", "zh"])
def test_head_tail_keeps_both_ends(document: str) -> None:
    """Of a long text front and back are kept, six to one; a marker between them says how much is gone."""
    result = fitted(chat(system("Be kind."), user(document)), 1400, policy="head_tail")
    text = result.messages[1]["content"]
    head, _, tail = text.partition(f"\n\n[… {result.removed_tokens} tokens left out …]\n\n")

    assert document.startswith(head)
    assert document.endswith(tail)
    assert 5.0 < len(head) / len(tail) < 8.0
    assert 1330 < result.total <= 1400
    assert "。" == head[-1] if document is CHINESE else "." == head[-1]


def test_head_and_tail_are_the_most_that_is_kept() -> None:
    """A text that has to be cut is cut to head and tail, though there were room for more."""
    result = fitted(chat(user(DOCUMENT)), 6000, policy="head_tail", head=600, tail=100)

    assert 640 < result.total < 730


def test_several_long_texts_are_cut_to_the_same_length() -> None:
    """The longest texts give first, and what is short stays whole."""
    body = chat(
        user(DOCUMENT), assistant("Fine."), user(DOCUMENT[: len(DOCUMENT) // 2]), assistant("Yes."), user("So?")
    )
    result = fitted(body, 4000, policy="head_tail")
    sizes = [SimpleCounter().count_text(message["content"]) for message in result.messages]

    assert [0, 2] == [removed.message for removed in result.removed]
    assert abs(sizes[0] - sizes[2]) < 200
    assert ["Fine.", "Yes.", "So?"] == [result.messages[index]["content"] for index in (1, 3, 4)]


def test_removed_tells_message_by_message() -> None:
    """The result says what is gone of which message, in tokens and in characters."""
    body = chat(user("Old?"), assistant("Old."), user("New?"), assistant("New."), user("Now?"))
    result = fitted(body, size(body) - 1, policy="history", keep_turns=1, marker="[-]")

    assert (
        Removed(message=0, tokens=6, characters=4, is_whole=True),
        Removed(message=1, tokens=8, characters=4, is_whole=True),
    ) == result.removed[:2]
    assert result.removed_tokens == sum(removed.tokens for removed in result.removed)
    assert "[-]\n\nN" == result.messages[0]["content"][:6]


@pytest.mark.parametrize("policy", ["middle", "semantic"])
@pytest.mark.parametrize(
    ("document", "question", "wanted"),
    [
        (DOCUMENT, "What about number 1029?", "number 1029 is lucky"),
        (CHINESE, "1029号是什么？", "1029号的颜色"),
    ],
    ids=["en", "zh"],
)
def test_what_the_question_is_about_is_kept(policy: Any, document: str, question: str, wanted: str) -> None:
    """Between front and back, what shares words with the last question is kept, in its place."""
    body = chat(user(document), assistant("Ready."), user(question))
    result = fitted(body, 900, policy=policy)
    text = result.messages[0]["content"]

    assert wanted in text
    assert text.startswith(document[:20])
    assert text.endswith(document[-10:])
    assert wanted not in fitted(body, 900, policy="head_tail").messages[0]["content"]


def test_question_may_stand_below_the_document() -> None:
    """Where document and question are one message, its last paragraph is the question."""
    result = fitted(chat(user(f"{DOCUMENT}\n\nWhat about number 1029?")), 700, policy="middle")

    assert "number 1029 is lucky" in result.messages[0]["content"]
    assert result.messages[0]["content"].endswith("What about number 1029?")


def about_luck(texts: Sequence[str]) -> list[list[float]]:
    """Give vectors by which only paragraph 147 is about fortune."""
    return [[1.0, 0.0] if "fortune" in text or "number 1029" in text else [0.0, 1.0] for text in texts]


@pytest.mark.parametrize("policy", ["middle", "semantic"])
def test_embeddings_find_what_shares_no_word(policy: Any) -> None:
    """With an embedder, what means the same is kept though it shares no word with the question."""
    body = chat(user(DOCUMENT), assistant("Ready."), user("Where is fortune?"))

    assert "number 1029" in fitted(body, 900, policy=policy, embed=about_luck).messages[0]["content"]
    assert "number 1029" not in fitted(body, 900, policy=policy).messages[0]["content"]


@pytest.mark.parametrize("policy", ["middle", "semantic"])
def test_embedder_that_fails_is_done_without(policy: Any) -> None:
    """Words alone are compared where the embedder fails, and the result says so."""

    def embed(_: Sequence[str]) -> list[list[float]]:
        raise RuntimeError

    body = chat(user(DOCUMENT), assistant("Ready."), user("What about number 1029?"))
    result = fitted(body, 900, policy=policy, embed=embed)

    assert "number 1029" in result.messages[0]["content"]
    assert ("embed failed (RuntimeError), and was done without",) == result.notes


def test_semantic_cuts_where_the_topic_changes() -> None:
    """What is kept of the middle is a whole topic."""
    topics = [
        " ".join(f"The {name} of the {name} shop number {n} sells {name}." for n in range(12))
        for name in ("bread", "silver", "paper", "honey", "timber", "copper", "leather", "velvet")
    ]
    body = chat(user("\n".join(topics)), assistant("Ready."), user("Who sells copper?"))
    result = fitted(body, 700, policy="semantic")

    assert topics[5] in result.messages[0]["content"]
    assert "silver" not in result.messages[0]["content"]


def exchange(number: int) -> list[dict[str, Any]]:
    """Make a turn of about fifty tokens."""
    return [user(f"Question {number}? {'word ' * 15}"), assistant(f"Answer {number}. {'word ' * 15}")]


def long_chat(turns: int) -> dict[str, Any]:
    """Make a conversation."""
    return chat(system("Be kind."), *(message for n in range(turns) for message in exchange(n)), user("And now?"))


def test_history_drops_the_oldest_in_a_big_step() -> None:
    """The oldest turns go, down to 60 %, so that the next turns need no cut; the next question says so."""
    body = long_chat(20)
    limit = size(body) - 1
    result = fitted(body, limit, policy="history")

    assert body["messages"][0] is result.messages[0]
    assert list(range(1, 2 * len(result.removed) // 2 + 1)) == [removed.message for removed in result.removed]
    assert 0.55 * limit < result.total <= 0.6 * limit
    assert result.messages[1]["content"].startswith(f"[… {result.removed_tokens} tokens left out …]\n\nQuestion")
    assert body["messages"][-10:] == list(result.messages[-10:])
    judge(result.body)


def test_history_begins_where_it_is_told_to() -> None:
    """With a lower high-water mark a conversation is cut before it is too long."""
    body = long_chat(20)

    assert not fitted(body, int(size(body) * 1.2), policy="history").is_changed
    assert fitted(body, int(size(body) * 1.2), policy="history", high_water=0.8).is_changed


def test_last_turns_stay_as_long_as_there_is_room() -> None:
    """The last turns stay, though more than 60 % are left; where they do not fit, they go like others."""
    body = long_chat(6)
    limit = size(body) - 10
    roomy = fitted(body, limit, policy="history", keep_turns=6)
    tight = fitted(body, 150, policy="history", keep_turns=6)

    assert body["messages"][-11:-1] == [*roomy.messages[-11:-1]] or roomy.messages[1]["content"].startswith("[…")
    assert 4 == len(tight.messages)


def test_steps_of_a_long_turn_go_with_their_results() -> None:
    """Where one turn calls tools again and again, its oldest calls go together with their results."""
    body = chat(user("Find it."), *(m for n in range(12) for m in step(n, "word " * 40, 2)), tools=TOOLS)
    result = fitted(body, size(body) * 2 // 3, policy="history")

    assert body["messages"][-3:] == list(result.messages[-3:])
    assert result.messages[0]["content"].startswith("Find it.\n\n[… ")
    assert "Hm." == result.messages[1]["reasoning_content"]
    judge(result.body)


def test_results_of_tools_stay_json() -> None:
    """A table that a tool gave is cut between its rows."""
    table = json.dumps({"ok": True, "rows": [{"id": n, "name": f"row {n}"} for n in range(400)]})
    body = chat(user("Find it."), *step(0, table), user("So?"), tools=TOOLS)
    result = fitted(body, 1500, policy="head_tail")
    rows = json.loads(result.messages[2]["content"])["rows"]

    assert {"id": 0, "name": "row 0"} == rows[0]
    assert {"id": 399, "name": "row 399"} == rows[-1]
    assert f"[… {result.removed_tokens} tokens left out …]" in rows
    judge(result.body)


def test_turns_of_the_middle_go_where_no_text_is_long() -> None:
    """Many short turns lose those of the middle, so that the cached front survives."""
    body = long_chat(30)
    result = fitted(body, size(body) // 2, policy="head_tail")
    gone = [removed.message for removed in result.removed]

    assert gone == list(range(gone[0], gone[-1] + 1))
    assert gone[0] > 15
    assert result.kept_prefix_tokens == size({**body, "messages": body["messages"][: gone[0]]}) - 3


def test_images_and_other_parts_stay() -> None:
    """Of a content of several parts only texts are cut."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    body = chat({"role": "user", "content": [image, {"type": "text", "text": DOCUMENT}]}, assistant("Hm."), user("So?"))
    result = fitted(body, 800, policy="head_tail")

    assert image is result.messages[0]["content"][0]
    assert "tokens left out" in result.messages[0]["content"][1]["text"]


def test_beginning_of_an_answer_stays() -> None:
    """An answer that is to be gone on with is not cut."""
    prefix = {"role": "assistant", "content": "word " * 200, "prefix": True}
    result = fitted(chat(user(DOCUMENT), prefix), 800, policy="head_tail")

    assert prefix is result.messages[-1]


@pytest.mark.parametrize("policy", ["head_tail", "middle", "history"])
def test_prompts_of_completions_are_fitted(policy: Any) -> None:
    """A prompt without messages is cut like a text."""
    body = {"model": "deepseek-flash", "prompt": DOCUMENT, "suffix": "End."}
    result = fitted(body, 1000, policy=policy)

    assert 900 < result.total <= 1000
    assert result.body["prompt"].startswith("Paragraph 0 ")
    assert ("End.", ()) == (result.body["suffix"], result.messages)


def test_compressor_says_it_in_short() -> None:
    """What a compressor makes of the rest stands behind the marker, if it is short enough."""
    asked: list[tuple[int, int]] = []

    def compress(texts: Sequence[str], limit: int) -> str:
        asked.append((len(texts), limit))
        return "All are lucky."

    result = fitted(chat(user(DOCUMENT)), 1000, policy="head_tail", compressor=compress)
    history = fitted(long_chat(20), 800, policy="history", compressor=compress)

    assert "tokens left out …]\n\nAll are lucky.\n\n" in result.messages[0]["content"]
    assert "tokens left out …]\n\nAll are lucky.\n\nQuestion" in history.messages[1]["content"]
    assert ("All are lucky.", ()) == (history.summary, history.notes)
    assert all(0 < limit <= 100 for _, limit in asked)
    assert asked[-1][0] > 10


@pytest.mark.parametrize(
    ("compressor", "note"),
    [
        (lambda _, limit: "word " * limit, "longer than the"),
        (lambda *_: 1 / 0, "compressor failed (ZeroDivisionError)"),
    ],
    ids=["too long", "fails"],
)
def test_compressor_is_not_relied_on(compressor: Any, note: str) -> None:
    """Where the compressor fails, or says too much, the marker stands alone, and the result says why."""
    result = fitted(chat(user(DOCUMENT)), 1000, policy="head_tail", compressor=compressor)

    assert 1000 >= result.total
    assert note in result.notes[0]


def test_function_makes_the_summary() -> None:
    """A function makes the summary of what is dropped; the next one is made of it and of what is dropped since."""
    told: list[list[str]] = []

    def summarise(messages: Sequence[Any]) -> str:
        told.append([message["content"] for message in messages])
        return f"Summary {len(told)}."

    memory, budget = CutMemory(), TokenBudget(policy="history", limit=800, summarise_with=summarise)
    first = fit(long_chat(20), budget, SimpleCounter(), memory=memory)
    again = fit(long_chat(20), budget, SimpleCounter(), memory=memory)
    later = fit(long_chat(30), budget, SimpleCounter(), memory=memory)

    assert "left out …]\n\nSummary 1.\n\nQuestion" in first.messages[1]["content"]
    assert (list(first.messages), True) == (list(again.messages), again.is_remembered)
    assert "left out …]\n\nSummary 2.\n\nQuestion" in later.messages[1]["content"]
    assert 2 == len(told)
    assert ("Summary 1.", "Question 0? ") == (told[1][0], told[0][0][:12])
    assert told[0][-1] not in told[1]


@pytest.mark.parametrize(
    ("summarise", "note"),
    [
        (lambda _: 1 / 0, "the summary failed"),
        (lambda _: "word " * 500, "the summary was too long"),
        (lambda _: " ", ""),
    ],
    ids=["fails", "too long", "empty"],
)
def test_summary_is_not_relied_on(summarise: Any, note: str) -> None:
    """Where the summary fails, is empty or too long, the marker stands alone."""
    result = fitted(long_chat(20), 800, policy="history", summarise_with=summarise)

    assert result.is_changed
    assert "" == result.summary
    assert note in "".join(result.notes)


def test_name_is_left_to_others() -> None:
    """Fitting asks no model itself: it says what the summary is to be made of."""
    result = fitted(long_chat(20), 800, policy="history", summarise_with="deepseek-flash")

    assert [removed.message for removed in result.removed] == list(range(1, len(result.to_summarise) + 1))


@pytest.fixture(scope="module")
def counter() -> Counter:
    """Load DeepSeek's vocabulary."""
    counter = Counter()
    counter.load()
    return counter


@pytest.mark.parametrize("policy", ["head_tail", "middle", "semantic", "history"])
@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-v4-pro"])
@pytest.mark.parametrize("share", [0.1, 0.35, 0.8])
def test_result_fits_by_the_real_count(policy: Any, model: str, share: float, counter: Counter) -> None:
    """What comes out fits by the count that DeepSeek bills by, and leaves little of the limit unused."""
    said = [user(f"{DOCUMENT}\n\n{CHINESE}"), *step(0, CHINESE), *step(1, DOCUMENT), assistant("Done."), *exchange(1)]
    body = {**chat(system("Be kind."), *said, user("What about number 1029?"), tools=TOOLS), "model": model}
    limit = int(counter.count(body).total * share)
    result = fit(body, TokenBudget(policy=policy, limit=limit), counter)

    assert result.total == counter.count(result.body).total <= limit
    assert policy == "history" or result.total > 0.8 * limit
    judge(result.body)


@pytest.mark.slow
def test_long_texts_are_cut_in_seconds(counter: Counter) -> None:
    """A text of a million characters is cut before the time limit of a test."""
    body = chat(user(DOCUMENT * 60))

    assert counter.count(fit(body, TokenBudget(policy="head_tail", limit=100_000), counter).body).total <= 100_000


@pytest.mark.parametrize("policy", ["middle", "semantic"])
def test_turns_that_the_question_is_about_are_kept(policy: Any) -> None:
    """Where turns have to go, those go that have least to do with the last question; each gap says so."""
    body = long_chat(40)
    body["messages"][41]["content"] = "The ferry sails on Thursdays. Remember that."
    body["messages"][-1]["content"] = "When does the ferry sail?"
    result = fitted(body, size(body) // 4, policy=policy)

    assert body["messages"][41]["content"] in [message["content"].split("\n\n")[-1] for message in result.messages]
    assert 2 <= len(result.cut.drops)
    assert len(result.cut.drops) == sum("left out …]" in message["content"] for message in result.messages)
    judge(result.body)
