"""What the metadata of a distribution requires, and whether it is met here."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["extras", "requirements", "unmet"]


def requirements(distribution: str, *, extra: str = "") -> list[Requirement]:
    """List what *distribution* requires in this environment, with *extra* or without any."""
    found = map(Requirement, importlib.metadata.requires(distribution) or [])
    return [one for one in found if _is_of(one, extra) and _holds(one, extra)]


def _is_of(one: Requirement, extra: str) -> bool:
    # Without this an extra would repeat what is required anyhow.
    return ("extra" in str(one.marker)) == bool(extra)


def _holds(one: Requirement, extra: str) -> bool:
    return one.marker is None or one.marker.evaluate({"extra": extra})


def extras(distribution: str) -> list[str]:
    """List the extras of *distribution*."""
    return importlib.metadata.metadata(distribution).get_all("Provides-Extra") or []


def unmet(wanted: Iterable[Requirement]) -> list[str]:
    """Name what is missing or of the wrong version, such as `click>=8.2 (8.1)`."""
    return [problem for one in wanted if (problem := _problem(one))]


def _problem(one: Requirement) -> str | None:
    try:
        version = importlib.metadata.version(one.name)
    except importlib.metadata.PackageNotFoundError:
        return one.name
    # A version that is installed is a choice already made, a pre-release too.
    return None if one.specifier.contains(version, prereleases=True) else f"{one.name}{one.specifier} ({version})"
