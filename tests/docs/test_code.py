"""The code in README, pages and docstrings runs, and prints what is said."""

from __future__ import annotations

import ast
import contextlib
import doctest
import gc
import importlib
import inspect
import io
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser

import deepseek_sdk
from deepseek_sdk import BreakerPolicy, Budgets, Client, LimiterPolicy, RuleEngine, SemanticCache, SpendBudget
from deepseek_sdk.caching import ModelJudge, OnnxEmbedder
from deepseek_sdk.caching.embedding.default import default_source
from deepseek_sdk.caching.matching.timely import VOLATILE
from deepseek_sdk.config import Settings
from deepseek_sdk.ledger import RecentCalls
from deepseek_sdk.resilience import Account, Breaker, Limiter
from deepseek_sdk.stages import Retry
from deepseek_sdk.testing import ScriptedBackend, VirtualIO, said
from deepseek_sdk.testing.virtual import finish
from deepseek_sdk.tokens import Counter
from tests.conftest import FACES
from tests.docs.conftest import DOCS, PAGES, blocks, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from sybil.example import Example

PACKAGE = Path(deepseek_sdk.__file__).parent
ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash")
# What the examples in docstrings take for granted; made where one names it.
GIVEN: dict[str, Callable[[], Any]] = {
    "ModelJudge": lambda: ModelJudge,
    "OnnxEmbedder": lambda: OnnxEmbedder,
    "VOLATILE": lambda: VOLATILE,
    "account": lambda: ACCOUNT,
    "an_error": OSError,
    "backend": lambda: ScriptedBackend(said("Hi")),
    "body": lambda: {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}]},
    "budgets": lambda: Budgets([SpendBudget(limit=20, period="day")], path=":memory:"),
    "breaker": lambda: Breaker(ACCOUNT, BreakerPolicy()),
    "client": Client,
    "counter": Counter,
    "engine": lambda: ScriptedBackend(said("Hi")),
    "finish": lambda: finish,
    "io": VirtualIO,
    "mask_names": lambda: lambda text: text,
    "ledger": RecentCalls,
    "limiter": lambda: Limiter(ACCOUNT, LimiterPolicy()),
    "messages": lambda: [{"role": "user", "content": "Hi"}],
    "model": lambda: SimpleNamespace(encode=list),
    "os": lambda: SimpleNamespace(environ={"HASH_KEY": "k"}),
    "other_client": Client,
    "rules": RuleEngine,
    "settings": Settings,
    "stage": Retry,
    "tools": lambda: [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
}


class Runner:
    """Runs the Python blocks of a page one after another, and compares what each prints with an `output` block."""

    def __init__(self) -> None:
        self.printed = ""

    def run(self, example: Example) -> None:
        """Run a block of Python."""
        source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
        with contextlib.redirect_stdout(io.StringIO()) as screen:
            exec(compile(source, example.path, "exec", dont_inherit=True), example.namespace)  # noqa: S102  the pages are ours
        self.printed = screen.getvalue()

    def compare(self, example: Example) -> str | None:
        """Compare; three dots stand for anything."""
        is_equal = doctest.OutputChecker().check_output(example.parsed, self.printed, doctest.ELLIPSIS)
        return None if is_equal else f"it prints:\n{self.printed}"


@contextlib.contextmanager
def clients_closed() -> Iterator[None]:
    """Close the clients that an example leaves open, before their sockets are collected with a warning."""
    gc.disable()
    try:
        yield
        for client in [thing for thing in gc.get_objects() if isinstance(thing, openai.OpenAI)]:
            # One that could not be made, here or in another test, has nothing to close.
            if "_client" in vars(client):
                client.close()
    finally:
        gc.enable()


def examples(path: Path) -> list[Example]:
    """Find the blocks of a page that can be run or compared."""
    runner = Runner()
    parsers = [CodeBlockParser("python", runner.run), CodeBlockParser("output", runner.compare)]
    return list(Sybil(parsers).parse(path).examples())


RUNNABLE = [path for path in PAGES if examples(path) and path.name not in {"CONTRIBUTING.md", "integrations.md"}]


@pytest.mark.slow
@pytest.mark.usefixtures("service", "tutorial")
@pytest.mark.parametrize("path", RUNNABLE, ids=name_of)
def test_code_of_a_page_runs(path: Path, request: pytest.FixtureRequest) -> None:
    """Every Python block runs after those before it, against an emulator, and prints what stands below it."""
    if path.name == "semantic-cache.md":
        request.getfixturevalue("model")
    with clients_closed():
        for example in examples(path):
            example.evaluate()


@pytest.mark.slow
def test_pytest_recipe_works(tmp_path: Path) -> None:
    """The fixtures and the test that the page on testing shows pass when pytest runs them."""
    page = blocks(DOCS / "testing.md", "python")
    imports = "from deepseek_sdk import Client\nfrom deepseek_sdk.testing import Emulator\n"
    (tmp_path / "test_recipe.py").write_text(imports + next(b for b in page if "import pytest" in b), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (0, True) == (done.returncode, "1 passed" in done.stdout), done.stdout


def shown(docstring: str) -> Iterator[str]:
    """Give the examples in a docstring: indented blocks, meanings taken off, and the code of table rows."""
    sections = r"^(?:Args|Attributes|Raises|Returns|Yields):$"
    prose = re.split(sections, inspect.cleandoc(docstring), flags=re.MULTILINE)[0]
    for block in re.findall(r"(?:^    .*\n?)+", prose, re.MULTILINE):
        yield re.sub(r"(?<=\S) {2,}\S.*$", "", textwrap.dedent(block), flags=re.MULTILINE)
    yield from re.findall(r"^\| `([^`]+)`", prose, re.MULTILINE)


def runnable(block: str) -> list[str]:
    """Give a block as pieces that can be run: whole, or line by line where it is a drawing."""
    try:
        ast.parse(block)
    except IndentationError:
        return [line.strip() for line in block.splitlines()]
    return [block]


def public_objects() -> Iterator[tuple[str, ModuleType, Any]]:
    """Walk the public modules, what they export, and the methods of that."""
    for face in FACES:
        module = importlib.import_module(face)
        yield module.__name__, module, module
        for exported in module.__all__:
            value = getattr(module, exported)
            yield f"{module.__name__}.{exported}", module, value
            parts = vars(value).items() if isinstance(value, type) else ()
            yield from ((f"{value.__qualname__}.{key}", module, part) for key, part in parts if callable(part))


DOCUMENTED = [found for found in public_objects() if any(shown(found[2].__doc__ or ""))]


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(("module", "value"), [row[1:] for row in DOCUMENTED], ids=[row[0] for row in DOCUMENTED])
def test_examples_in_public_docstrings_run(module: ModuleType, value: Any) -> None:
    """Whatever a public docstring shows can be typed, with the public names of its module."""
    if value is SemanticCache and default_source() is None:
        pytest.skip("the wheel with the model is not made for this platform")
    pieces = [piece for block in shown(value.__doc__) for piece in runnable(block)]
    public = {name: getattr(face, name) for face in (deepseek_sdk, module) for name in face.__all__}
    given = {name: make() for name, make in GIVEN.items() if re.search(rf"\b{name}\b", "\n".join(pieces))}
    namespace = {**public, **vars(module), **given}
    with clients_closed():
        for piece in pieces:
            exec(piece, namespace)  # noqa: S102  the examples are ours


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_examples_in_docstrings_are_python(path: Path) -> None:
    """Private docstrings show Python as well."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, documented)]

    for block in (b for node in nodes for b in shown(ast.get_docstring(node) or "")):
        assert all(ast.parse(piece) for piece in runnable(block))


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_python_blocks_compile(path: Path) -> None:
    """Every block of Python is Python, also where another test runs it."""
    for block in blocks(path, "python"):
        compile(block, name_of(path), "exec", dont_inherit=True)
