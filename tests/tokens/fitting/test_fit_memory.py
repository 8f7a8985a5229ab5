from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from deepseek_sdk.tokens.fitting import CutMemory, Fit, TokenBudget, fit
from deepseek_sdk.tokens.fitting.cut import Cut, digest
from tests.tokens.fitting.test_fit_policies import CHINESE, DOCUMENT, long_chat, size
from tests.tokens.fitting.world import SimpleCounter, assistant, chat, user


def fitted(body: dict[str, Any], memory: CutMemory, limit: int = 800, policy: Any = "history", **options: Any) -> Fit:
    """Fit a request with a memory."""
    return fit(body, TokenBudget(policy=policy, limit=limit), SimpleCounter(), memory=memory, **options)


def test_prefix_is_the_same_until_the_next_big_step() -> None:
    """Of sixty turns of a conversation few need a new cut; between them every request begins as the one before."""
    memory, before, cuts = CutMemory(), None, 0
    for turns in range(10, 70):
        result = fitted(long_chat(turns), memory)
        if result.is_changed and not result.is_remembered:
            cuts += 1
        elif before is not None and before.is_changed:
            assert list(before.messages[:-1]) == list(result.messages[: len(before.messages) - 1])
        before = result

    assert 5 <= cuts <= 12


def test_without_a_memory_each_turn_is_cut_anew() -> None:
    """What makes the prefix stay is the memory: the marker of a conversation cut anew says another number."""
    markers = {
        fit(long_chat(turns), TokenBudget(policy="history", limit=800), SimpleCounter()).messages[1]["content"]
        for turns in range(20, 26)
    }

    assert 1 < len(markers)


def test_documents_are_cut_at_the_same_place() -> None:
    """The next question about a document finds it cut as before; once the rest outgrows the limit it is cut shorter."""
    memory = CutMemory()
    body = chat(user(DOCUMENT), assistant("Ready."), user("First?"))
    first = fitted(body, memory, 900, "head_tail")
    longer = {**body, "messages": [*body["messages"], assistant("Yes."), user("Second?")]}
    second = fitted(longer, memory, first.total + 30, "head_tail")
    much = {**body, "messages": [*longer["messages"], assistant("word " * 100), user("Third?")]}
    third = fitted(much, memory, first.total + 30, "head_tail")

    assert (False, True, False) == (first.is_remembered, second.is_remembered, third.is_remembered)
    assert first.messages[0] == second.messages[0]
    assert third.total < 0.75 * (first.total + 30)
    assert third.messages[0]["content"].split("\n\n")[0] == first.messages[0]["content"].split("\n\n")[0]


def test_question_about_what_was_left_out_makes_a_new_cut() -> None:
    """Where parts are chosen by a question, another one is answered by its own parts, if they are not there yet."""
    memory = CutMemory()
    body = chat(user(CHINESE), assistant("好。"), user("1029号是什么？"))
    first = fitted(body, memory, 900, "middle")
    same = {**body, "messages": [*body["messages"], assistant("是。"), user("1029号为什么特别？")]}
    other = {**body, "messages": [*body["messages"], assistant("是。"), user("700号是什么？")]}

    assert first.messages[0] == fitted(same, memory, first.total + 40, "middle").messages[0]
    assert "700号的颜色" not in first.messages[0]["content"]
    assert "700号的颜色" in fitted(other, memory, first.total + 40, "middle").messages[0]["content"]


def test_changed_beginning_is_a_new_conversation() -> None:
    """A cut is not used where what it was made of has changed."""
    memory = CutMemory()
    body = long_chat(20)
    fitted(body, memory, session_id="a")
    changed = {**body, "messages": [*body["messages"][:2], assistant("Another."), *body["messages"][3:]]}

    assert not fitted(changed, memory, session_id="a").is_remembered
    assert fitted(body, memory, session_id="a").is_remembered
    assert not fitted(body, memory, session_id="b").is_remembered


def test_smaller_limit_makes_a_new_cut() -> None:
    """A cut that leaves too much is made anew."""
    memory, body = CutMemory(), long_chat(20)
    first = fitted(body, memory)
    second = fitted(body, memory, first.total - 1)

    assert not second.is_remembered
    assert second.total < first.total


def test_conversations_that_begin_alike_are_told_apart() -> None:
    """Without session ids, a few conversations with the same beginning keep their own cuts."""
    memory = CutMemory()
    bodies = [chat(user("Hi"), assistant(f"Hello {n}."), *long_chat(20)["messages"][1:]) for n in range(3)]
    firsts = [fitted(body, memory) for body in bodies]
    seconds = [fitted(body, memory) for body in bodies]

    assert all(second.is_remembered for second in seconds)
    assert [list(first.messages) for first in firsts] == [list(second.messages) for second in seconds]


def test_least_recently_used_go_first() -> None:
    """A memory holds as many conversations as it may."""
    memory, messages = CutMemory(2), [user("Hi")]
    cut = Cut(covers=1, digest=digest(messages))
    memory.keep("a", cut)
    memory.keep("b", cut)
    memory.recall("a", messages)
    memory.keep("c", cut)

    assert [cut, None, cut] == [memory.recall(key, messages) for key in "abc"]
    assert 2 == len(memory)


def test_threads_share_a_memory() -> None:
    """Many threads that fit the same conversations get the same results as one."""
    memory = CutMemory(8)
    bodies = [chat(user(f"Chat {n}"), assistant("Yes."), *long_chat(20)["messages"][1:]) for n in range(16)]
    alone = [list(fitted(body, CutMemory()).messages) for body in bodies]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda body: list(fitted(body, memory).messages), bodies * 4))

    assert alone * 4 == results
    assert 8 == len(memory)
    assert size(bodies[0]) > 800


def test_question_about_a_dropped_turn_makes_a_new_cut() -> None:
    """The same holds for whole turns: one that a new question is about comes back."""
    memory, body = CutMemory(), long_chat(40)
    body["messages"][41]["content"] = "The ferry sails on Thursdays. Remember that."
    first = fitted(body, memory, size(body) // 4, "middle")
    same = {**body, "messages": [*body["messages"], assistant("Well."), user("And?")]}
    other = {**body, "messages": [*body["messages"], assistant("Well."), user("When does the ferry sail?")]}

    assert list(first.messages) == list(fitted(same, memory, first.total + 40, "middle").messages[:-2])
    assert "ferry sails" not in str(first.messages)
    assert "ferry sails" in str(fitted(other, memory, first.total + 40, "middle").messages)
