"""What is known of models by their names: which are gone, and how long a prompt they take."""

from __future__ import annotations

__all__ = ["ALIASES", "AUTO", "DEFAULT_MODEL", "RETIRED", "SERVED", "context_window"]

# The model of a call that leaves the choice to the client.
AUTO = "auto"
DEFAULT_MODEL = "deepseek-flash"

# What the service's own list of models says (GET /models).
SERVED = frozenset({"deepseek-flash", "deepseek-v4-pro"})

# "inaccessible after 2026-07-24 15:59 UTC" (DeepSeek's change log).
RETIRED = {"deepseek-chat": "deepseek-flash", "deepseek-reasoner": "deepseek-flash"}

# Accepted, served by the model on the right, and not on the service's own list of models.
ALIASES = {"deepseek-v4-flash": "deepseek-flash", "deepseek-v4-flash-vision-exp": "deepseek-flash"}

# "This model's maximum context length is 1048565 tokens" (the text of the service's own refusals).
_DEEPSEEK_WINDOW = 1_048_565


def context_window(model: str) -> int | None:
    """
    Tell how many tokens prompt and answer may have together.

    Args:
        model: The name of a model.

    Returns:
        The number, for every name that begins with "deepseek-": new models have had the same; else None.
    """
    return _DEEPSEEK_WINDOW if model.startswith("deepseek-") and "distill" not in model.lower() else None
