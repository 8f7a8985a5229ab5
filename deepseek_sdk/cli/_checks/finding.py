"""What a check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.cli._language import Say

__all__ = ["Finding", "Status", "failed", "found_by", "ok", "skipped", "warning"]

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
        """Make the row of a table; *hide* takes secrets out of a text."""
        return {name: hide(value) or None for name, value in asdict(self).items()}


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


def found_by(check: str, run: Callable[[], Finding | list[Finding]], say: Say) -> list[Finding]:
    """
    Run a check; one that raises has failed, and the others go on.

    Args:
        check: Its name.
        run: It.
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
