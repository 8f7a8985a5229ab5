"""Schemas that validate, and those that cannot."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pydantic
import pytest

from deepseek_sdk.structured.schemas import Validators, shortened


class Node(pydantic.BaseModel):
    """What holds more of itself."""

    name: str = pydantic.Field(alias="名称")
    children: list[Node]
    parent: Node | None = None


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"名称": "根", "children": [{"名称": "叶", "children": []}]}, ()),
        ({"名称": 1, "children": []}, ("名称: 1 is not of type 'string'",)),
        ({"名称": "根", "children": [{"名称": "叶"}]}, ("children.0: 'children' is a required property",)),
        (3, ("$: 3 is not of type 'object'",)),
    ],
)
def test_problems_have_places(value: object, problems: tuple[str, ...]) -> None:
    """Each problem names its place; references, recursive ones too, are followed."""
    assert problems == Validators().problems(Node.model_json_schema(), value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no such type"},
        {"$ref": "#/nowhere"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "#"},
        {"pattern": "("},
        {"enum": {1, 2}},
    ],
)
def test_a_schema_that_cannot_be_used(schema: dict[str, Any]) -> None:
    """A schema that is none finds nothing wrong: nothing is fetched, and no call fails for it."""
    assert () == Validators().problems(schema, {"a": 1})


def test_few_and_short_lines() -> None:
    """Of many problems the first eight are told, and of long ones the beginning."""
    found = Validators().problems({"items": {"type": "integer"}}, ["x" * 1000] * 20)

    assert 8 == len(found)
    assert all(len(line) < 210 for line in found)
    assert "abc" == shortened("abc")


def test_schemas_are_kept_and_bounded() -> None:
    """A schema is made ready once; a thousand of them do not fill the memory."""
    validators = Validators()
    for number in range(1000):
        validators.problems({"const": number}, number)
    first = validators._validator({"const": 999})

    assert first is validators._validator({"const": 999})
    assert len(validators._made) <= 64


def test_threads_share_validators() -> None:
    """Threads that meet a schema at once all get their answer."""
    validators, found = Validators(), []
    threads = [
        threading.Thread(target=lambda n=n: found.append(validators.problems({"const": n % 70}, 1))) for n in range(140)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (140, 2) == (len(found), sum(not problems for problems in found))


def test_nothing_heavy_is_imported() -> None:
    """Neither the library nor its stages import what validates."""
    code = "import deepseek_sdk.stages.repair, sys; print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False\n" == done.stdout
