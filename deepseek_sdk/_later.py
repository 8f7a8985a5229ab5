"""Names of a package that are imported when somebody asks for them: most programs never do."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["later"]


def later(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """
    Make the `__getattr__()` of a package.

    Args:
        package: Its name.
        homes: The module below it that each name stands in.

    Returns:
        A function that imports a name of the package.
    """

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return imported
