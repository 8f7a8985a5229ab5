"""`RuleEngine`: a backend that answers from preset replies."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk._wire import stub_request
from deepseek_sdk.backends.generator import reply_from
from deepseek_sdk.backends.rules.files import RuleSet, parse_rules
from deepseek_sdk.backends.rules.matching import Matcher
from deepseek_sdk.backends.rules.request import choice_count, is_chinese, question_of
from deepseek_sdk.backends.rules.response import chunks_of, formatted
from deepseek_sdk.backends.rules.rule import Rule, pattern_problems
from deepseek_sdk.backends.rules.template import Template, default_problem, moment
from deepseek_sdk.backends.rules.text import Normalizer, shown
from deepseek_sdk.backends.rules.watch import WatchedFile
from deepseek_sdk.errors import ConfigurationError, NoRuleError, RuleFileError

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.backends.rules.matching import Match

__all__ = ["RuleEngine"]

_log = logging.getLogger("deepseek_sdk")

_UNAVAILABLE = "The service is unavailable right now. Please try again in a few minutes."
_UNAVAILABLE_IN_CHINESE = "服务暂时不可用，请稍后再试。"

# Characters of a question above which an event loop is not kept waiting for the search.
_LONG = 4096


class _Ready(NamedTuple):
    """Rules made ready for use, replaced as a whole."""

    matcher: Matcher
    replies: Mapping[Rule, Template]
    default: Template | Unset | None


class RuleEngine:
    """
    Answers from preset replies: what can still be said when no model answers.

    It is a backend like any other, so an ordinary completion or stream comes out, in both colours. The last message of
    the user is compared with the rules; tools are ignored, and JSON is JSON where it is asked for.

        RuleEngine([Rule("Hello!", phrases=["hi", "你好"])])            the built-in reply where no rule matches
        RuleEngine([Rule("Hello!", phrases=["hi"])], default="Sorry?")  a reply of your own there
        RuleEngine([Rule("Hello!", phrases=["hi"])], default=None)      an error there: `NoRuleError`
        RuleEngine().answer("你好吗？")                                  the reply, without a client

    Args:
        rules: The rules, in order.
        default: The reply where none matches; None to refuse; when not given, "unavailable" in Chinese or English.
        name: What reports call it.
        model: What responses call the model that answered.
        case_sensitive: Upper and lower case differ.

    Attributes:
        name: What reports call it.
        is_last_resort: True: it is asked when nothing else is left.

    Raises:
        ConfigurationError: An argument cannot be used; the message names it.
        MissingExtraError: The packages it needs are not installed.
    """

    is_last_resort = True

    @property
    def always_answers(self) -> bool:
        """Whether there is a reply for what no rule matches."""
        return self._ready.default is not None

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        default: str | Unset | None = UNSET,
        name: str = "rules",
        model: str = "rule-engine",
        case_sensitive: bool = False,
    ) -> None:
        _check_texts(name=name, model=model)
        self.name = name
        self._model = model
        self._default = _checked_default(default)
        self._normalize = Normalizer(case_sensitive=case_sensitive)
        self._file: WatchedFile | None = None
        self._ready = self._prepared(RuleSet(_checked(rules, self._normalize)))

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        reload: bool = True,
        default: str | Unset | None = UNSET,
        name: str = "rules",
        model: str = "rule-engine",
        case_sensitive: bool = False,
    ) -> Self:
        """
        Take the rules from a file.

        Args:
            path: TOML, or JSON where the name ends in ".json".
            reload: When a call comes and the file has changed, read it again, at most once a second. A file that
                cannot be used then is logged, and the rules stay as they are.
            default: The reply where no rule matches and the file has no *default* of its own.
            name: What reports call the engine.
            model: What responses call the model that answered.
            case_sensitive: Upper and lower case differ.

        Returns:
            The engine.

        Raises:
            RuleFileError: The file cannot be used; all that is wrong is listed, with lines.
        """
        self = cls(default=default, name=name, model=model, case_sensitive=case_sensitive)
        parse = partial(parse_rules, normalize=self._normalize)
        self._file = WatchedFile(path, parse, is_watched=reload)
        self._file.load(self._install)
        return self

    async def __call__(self, call: Call) -> Reply:
        """
        Answer a call.

        Args:
            call: It.

        Returns:
            The answer in flight.

        Raises:
            NoRuleError: No rule matches, and there is no default reply.
            InvalidRequestError: *n* is no number of choices.
        """
        choice_count(call.body)
        if self._file is not None and self._file.is_due(call.io.now()):
            await self._refresh(self._file, call.io)
        text = question_of(call.body)
        is_long = len(text) > _LONG
        work = partial(self.answer, text, model=call.model)
        content = formatted(call.body, await call.io.offload(work) if is_long else work())
        return reply_from(call, partial(self._chunks, content), route=self.name)

    def match(self, text: str) -> Match | None:
        """
        Find the rule that answers a question. A file is not looked at: only calls do that.

        Args:
            text: The question.

        Returns:
            The rule and how it matched, or None where none does.
        """
        return self._ready.matcher.match(self._normalize.question(text))

    def answer(self, text: str, *, model: str = "", now: datetime | None = None) -> str:
        """
        Answer a question.

        Args:
            text: The question.
            model: The model that was asked for, for replies that name it.
            now: The moment that replies show; the present one, in local time, when None.

        Returns:
            The reply.

        Raises:
            NoRuleError: No rule matches, and there is no default reply.
        """
        ready = self._ready
        match = ready.matcher.match(self._normalize.question(text))
        shown = moment(datetime.now().astimezone() if now is None else now)
        values = {"question": text, "model": model, **shown}
        reply = "" if match is None else ready.replies[match.rule].fill({**match.groups, "0": match.text, **values})
        # A reply of nothing but places may come out blank.
        return reply if reply.strip() else _fallback_reply(ready.default, values)

    async def _chunks(self, content: str, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        for chunk in chunks_of(call.path, call.body, content, model=self._model, is_stream=call.is_stream):
            yield chunk

    async def _refresh(self, file: WatchedFile, io: IO) -> None:
        """Take over what the file says now. Whatever goes wrong, the call that came by has no part in it."""
        try:
            await io.offload(file.refresh, io.now(), self._install)
        except RuleFileError as error:
            _log.warning("the rules stay as they were, for their file cannot be used any more:\n%s", error)
        except Exception:  # noqa: BLE001  the last resort does not fail for a file that it can do without
            _log.warning("the rules stay as they were, for their file cannot be looked at", exc_info=True)

    def _install(self, rule_set: RuleSet) -> None:
        self._ready = self._prepared(rule_set)

    def _prepared(self, rule_set: RuleSet) -> _Ready:
        default = self._default if rule_set.default is UNSET else rule_set.default
        return _Ready(
            matcher=Matcher(rule_set.rules, self._normalize),
            replies={rule: Template(rule.reply) for rule in rule_set.rules},
            default=Template(default) if isinstance(default, str) else default,
        )


def _fallback_reply(default: Template | Unset | None, values: dict[str, str]) -> str:
    if default is None:
        raise NoRuleError(request=stub_request("http://backend.invalid"))
    if isinstance(default, Template) and (reply := default.fill(values)).strip():
        return reply
    return _UNAVAILABLE_IN_CHINESE if is_chinese(values["question"]) else _UNAVAILABLE


def _checked(rules: Iterable[Rule], normalize: Normalizer) -> tuple[Rule, ...]:
    checked = tuple(rules)
    problems: list[str] = []
    for rule in checked:
        if not isinstance(rule, Rule):
            raise ConfigurationError(f"rules must be a list of Rule, not of {shown(rule)}")
        label = shown(rule.name or rule.reply)
        problems += [f"rule {label}: {problem.text}" for problem in pattern_problems(rule.patterns, normalize)]
    if problems:
        raise ConfigurationError("\n".join(problems))
    return checked


def _checked_default(default: str | Unset | None) -> str | Unset | None:
    if default is not None and not isinstance(default, Unset) and (problem := default_problem(default)):
        raise ConfigurationError(problem)
    return default


def _check_texts(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{name} must be text, not {shown(value)}")
