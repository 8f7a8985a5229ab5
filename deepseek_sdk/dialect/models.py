"""Names of models that are gone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk.dialect.finding import Finding
from deepseek_sdk.errors import UnknownModelError
from deepseek_sdk.routing.models import RETIRED, SERVED

if TYPE_CHECKING:
    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Request

__all__ = ["RETIRED_MODEL", "retired_model", "retired_model_of_completions"]

RETIRED_MODEL = "retired_model"

# "deepseek-chat and deepseek-reasoner correspond to the non-thinking and thinking mode" (change log of 2026-04-24).
_THINKING = {"deepseek-chat": "disabled", "deepseek-reasoner": "enabled"}


def retired_model(request: Request) -> Finding | None:
    """Find a name that is no longer served; the one that is has thinking on by default, so the mode is said as well."""
    model = request.body["model"]
    return _finding(model, _THINKING.get(model)) if _is_retired(request) else None


def retired_model_of_completions(request: Request) -> Finding | None:
    """Find a name that is no longer served where no model thinks."""
    return _finding(request.body["model"], None) if _is_retired(request) else None


def _is_retired(request: Request) -> bool:
    model = request.body["model"]
    return isinstance(model, str) and model in RETIRED and not request.policy.keeps_names


def _finding(model: str, thinking: str | None) -> Finding:
    new = RETIRED[model]
    said = "" if thinking is None else f' with thinking={{"type": "{thinking}"}}'
    return Finding(
        code=RETIRED_MODEL,
        places=("model",),
        message=f"model {model} was retired on 2026-07-24",
        fix=f"{new}{said} is asked instead",
        repair=partial(_renamed, new=new, thinking=thinking),
        kind=UnknownModelError,
        facts={"model": model, "supported": tuple(sorted(SERVED))},
    )


def _renamed(body: Body, *, new: str, thinking: str | None) -> Body:
    renamed = {**body, "model": new}
    if thinking is not None and body.get("thinking") is None and body.get("reasoning_effort") in (None, "none"):
        renamed["thinking"] = {"type": "disabled" if body.get("reasoning_effort") == "none" else thinking}
    return renamed
