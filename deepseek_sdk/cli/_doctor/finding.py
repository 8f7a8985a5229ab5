"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.cli._language import Say

__all__ = ["Finding", "Status", "failed", "found_by", "ok", "skipped", "softened", "warning"]

# What a backend that answers in place of the endpoint does without.
_OF_THE_ENDPOINT = ("key", "proxy", "endpoint", "tls", "models")

Status = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    What a check found.

    Attributes:
        check: What was checked; the same word in every language.
        status: "ok", "warning", "failed" or "skipped".
        detail: What was found.
        advice: What to do; empty where nothing needs to be done.
    """

    check: str
    status: Status
    detail: str
    advice: str = ""

    def row(self, hide: Callable[[str], str]) -> dict[str, str | None]:
        """Make the row of a table; *hide* takes secrets out of a text, which the other cells are not."""
        detail, advice = hide(self.detail), hide(self.advice)
        return {"check": self.check, "status": self.status, "detail": detail or None, "advice": advice or None}


def ok(check: str, detail: str) -> Finding:
    """Say that all is well."""
    return Finding(check=check, status="ok", detail=detail)


def warning(check: str, detail: str, advice: str) -> Finding:
    """Say that something is not as it should be, but calls can be made."""
    return Finding(check=check, status="warning", detail=detail, advice=advice)


def failed(check: str, detail: str, advice: str) -> Finding:
    """Say that calls will fail."""
    return Finding(check=check, status="failed", detail=detail, advice=advice)


def skipped(check: str, detail: str, advice: str = "") -> Finding:
    """Say why nothing was checked."""
    return Finding(check=check, status="skipped", detail=detail, advice=advice)


def softened(finding: Finding, say: Say) -> Finding:
    """
    Make a warning of what has failed, where a backend answers that does without it.

    Args:
        finding: What a check found.
        say: Chooses the language.

    Returns:
        What it comes to.
    """
    if finding.status != "failed" or finding.check not in _OF_THE_ENDPOINT:
        return finding
    text = say(en="{} (chats do without it: the backend answers)", zh="{}（不影响对话：由后端作答）")
    return replace(finding, status="warning", detail=text.format(finding.detail))


def found_by(check: str, run: Callable[[], Finding | list[Finding]], say: Say) -> list[Finding]:
    """
    Run a check; one that raises has failed, and the others go on.

    Args:
        check: Its name.
        run: The check.
        say: Chooses the language.

    Returns:
        What it found.
    """
    try:
        found = run()
    except Exception as error:  # noqa: BLE001  a program that looks for faults may not end at one
        detail = say(en="the check itself failed: {}", zh="检查本身出错：{}").format(f"{type(error).__name__}: {error}")
        return [failed(check, detail, say(en="Please report this as a bug.", zh="这是程序缺陷，请反馈给维护者。"))]
    return found if isinstance(found, list) else [found]
