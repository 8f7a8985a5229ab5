"""What strict mode refuses: the same as DeepSeek's own request parser, and what only the guide says."""

from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk.structured.strict_schema import strict_problem

LEAF = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
DEFS = {"$def": {"L": LEAF}}


@pytest.mark.parametrize("name", ["properties", "$def", "$defs", "required", "anyOf"])
@pytest.mark.parametrize("value", [True, 3, "a"])
def test_what_is_no_schema(name: str, value: object) -> None:
    """A schema that is none, such as one of an old draft with `required: true`, is a problem and no crash."""
    expected = f"parameters: '{name}' is not what a schema has there"

    assert expected == strict_problem({**LEAF, name: value})


def holding(part: Any, **more: Any) -> dict[str, Any]:
    """Give an object with one property."""
    return {"type": "object", "properties": {"a": part}, "required": ["a"], "additionalProperties": False, **more}


RIGHT: list[dict[str, Any]] = [
    LEAF,
    {"type": "object", "properties": {}, "additionalProperties": False},
    holding({"$ref": "#/$def/L"}, **DEFS),
    holding({"$ref": "#/$def/L", "description": "叶"}, **DEFS),
    holding({"type": "array", "items": {"$ref": "#/$def/L"}}, **DEFS),
    holding({"type": "array", "items": {"$ref": "#"}}),
    holding({"anyOf": [LEAF, {"type": "array", "items": LEAF}, {"type": "null"}]}),
    holding({"type": ["string", "null"], "enum": ["a", None]}),
    holding({"type": "string", "format": "uuid", "pattern": "^a"}),
    holding({"type": "number", "minimum": 1, "multipleOf": 0.5}),
]
# The last column: the parser refuses it, too.
WRONG: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "parameters: the top level must be an object", True),
    ({"type": "array", "items": LEAF}, "parameters: the top level must be an object", True),
    ({**LEAF, "additionalProperties": {"type": "string"}}, "parameters: 'additionalProperties' must be false", True),
    ({**LEAF, "required": []}, "parameters: every property must be in 'required', 'a' is not", True),
    (holding({}), "parameters.a: one of 'type', 'anyOf' and '$ref' is required", True),
    (holding({"enum": ["a"]}), "parameters.a: one of 'type', 'anyOf' and '$ref' is required", True),
    (holding({"oneOf": [LEAF]}), "parameters.a: one of 'type', 'anyOf' and '$ref' is required", True),
    (
        holding({"anyOf": [{"$ref": "#/$def/L"}, {"type": "null"}]}, **DEFS),
        "parameters.a.anyOf[0]: one of 'type', 'anyOf' and '$ref' is required",
        True,
    ),
    (holding({"type": "any"}), "parameters.a: type 'any' is not supported", True),
    (holding({"type": "array"}), "parameters.a: an array needs 'items'", True),
    (holding({"type": "array", "items": False}), "parameters.a: an array needs 'items'", True),
    (holding({"type": "object", "additionalProperties": False}), "parameters.a: an object needs properties", True),
    (holding({"type": "string", "format": "date"}), "parameters.a: format 'date' is not supported", True),
    (holding({"$ref": "#/$def/L"}, **{"$def": {"L": {"enum": [1]}}}), "parameters.L: one of", True),
    (holding({"type": "string", "maxLength": 3}), "parameters.a: 'maxLength' is not supported", False),
    (holding({"type": "array", "items": LEAF, "minItems": 1}), "parameters.a: 'minItems' is not supported", False),
    ({**LEAF, "additionalProperties": None}, "parameters: 'additionalProperties' must be false", False),
]


def refusal(schema: dict[str, Any]) -> str | None:
    """Ask DeepSeek's own parser, where there is a wheel of it."""
    recipe = pytest.importorskip("deepseek_recipe")
    options = recipe.ConversionOptions().with_model_versions_by_name({"m": recipe.ModelVersion.DeepseekV41Flash})
    tool = {"type": "function", "function": {"name": "f", "strict": True, "parameters": schema}}
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    try:
        recipe.ChatCompletionRequest(request).convert(options)
    except (ValueError, recipe.ConversionError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("schema", RIGHT)
def test_what_is_served(schema: dict[str, Any]) -> None:
    """What the guide lists is served, and DeepSeek's own parser takes it."""
    assert strict_problem(schema) is None
    assert refusal(schema) is None


@pytest.mark.parametrize(("schema", "problem", "is_known_to_parser"), WRONG)
def test_what_is_refused(schema: dict[str, Any], problem: str, *, is_known_to_parser: bool) -> None:
    """The first problem is told with its place."""
    assert (strict_problem(schema) or "").startswith(problem)
    assert is_known_to_parser == (refusal(schema) is not None)
