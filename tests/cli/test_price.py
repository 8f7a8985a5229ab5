"""`price`: what models cost, what tokens cost, and whether the prices can be relied on."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk.cli._app import app
from deepseek_sdk.pricing import PriceBook
from tests.cli.conftest import run_program

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = ("--prompt", "1000", "--hit", "896", "--completion", "50")
PEAK, OFF_PEAK = "2026-11-30T10:00+08:00", "2026-10-01T10:00+08:00"
FREE = 'as_of = 2026-11-29\n[[card]]\nmodel = "mine"\nCNY.flat = { hit = 0, miss = 0, output = 0 }\n'


def price(*arguments: str, **variables: str) -> Result:
    """Run `price` in this process, in English."""
    return CliRunner().invoke(app, ["--lang", "en", "price", *arguments], env=variables)


def rows(*arguments: str, **variables: str) -> list[dict[str, Any]]:
    """Run `price` and read the rows that it prints."""
    done = price(*arguments, "-o", "json", **variables)
    assert 0 == done.exit_code, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a file of prices."""
    path = tmp_path / "prices.toml"
    path.write_text(FREE)
    return path


# --- show


def test_prices_of_now() -> None:
    """Each model has a row for each currency and tier; one of the tiers holds."""
    found = rows("show", "--at", PEAK)

    assert [("deepseek-flash", "CNY", "off_peak", "0.02", "1", "4", False)] == [
        tuple(found[0][name] for name in ("model", "currency", "tier", "hit", "miss", "output", "holds"))
    ]
    assert {("deepseek-flash", "peak"), ("deepseek-v4-pro", "peak")} == {
        (row["model"], row["tier"]) for row in found if row["holds"]
    }
    assert {"2026-09-10T00:00:00+08:00", "2026-08-17T00:00:00+08:00"} == {row["valid_from"] for row in found}


def test_prices_of_one_model_then() -> None:
    """Prices of the past can be shown, also under another name of the model."""
    found = rows("show", "-m", "deepseek-v4-flash", "--at", "2026-05-01")

    assert [("CNY", "flat", "0.02", True), ("USD", "flat", "0.0028", True)] == [
        (row["currency"], row["tier"], row["hit"], row["holds"]) for row in found
    ]


def test_all_prices_there_were() -> None:
    """The history has every list, and what holds is still marked."""
    found = rows("show", "--history", "-m", "deepseek-flash", "--at", PEAK)

    assert ["0.2", "0.02", "0.05", "0.10", "0.02", "0.04"] == [row["hit"] for row in found if row["currency"] == "CNY"]
    assert ["0.04", "0.006"] == [row["hit"] for row in found if row["holds"]]


def test_hour_that_nobody_knows() -> None:
    """In a year whose holidays are not known it is not said which tier holds."""
    assert {None} == {row["holds"] for row in rows("show", "--at", "2029-03-05T10:00")}
    assert "?" in price("show", "--at", "2029-03-05T10:00").stdout


def test_tables_say_which_hour_it_is() -> None:
    """Beside a table it is told which tier holds, until when, and how old the prices are."""
    done = price("show", "--at", PEAK)

    assert all(word in done.stderr for word in (str(PriceBook.builtin().as_of), "is peak", "2026-11-30 12:00 UTC+8"))


def test_hours_that_do_not_matter(file: Path) -> None:
    """It is told where prices do not depend on the hour, and where the hour does not change any more."""
    file.write_text(f"replace = true\n{FREE}")
    flat = price("show", "--prices", str(file)).stderr
    file.write_text(f"{FREE}[[tariff]]\nwindows = ['00:00-24:00']\ndays = []\n")
    still = price("show", "--prices", str(file)).stderr

    assert "They do not depend on the hour." in flat
    assert "is off-peak, until further notice." in still


def test_tables_in_chinese() -> None:
    """A table is worded in the language asked for."""
    done = price("show", "--lang", "zh", "--at", PEAK)

    assert all(word in done.stdout for word in ("缓存未命中", "高峰", "平峰"))
    assert "属高峰时段" in done.stderr


def test_meters() -> None:
    """What is not counted in tokens has prices in CNY alone."""
    found = {row["name"]: (row["cny"], row["usd"], row["per"]) for row in rows("show", "--meters")}

    assert {
        "search": ("5", None, 1000),
        "fetch": ("5", None, 1000),
        "ocr": ("1.5", None, 1000),
        "tts": ("3", None, 10000),
    } == found


def test_model_without_prices() -> None:
    """A model without prices is an error that names those that have some."""
    for arguments in (("show", "-m", "gpt-5"), ("calc", "--prompt", "1", "-m", "gpt-5")):
        done = price(*arguments)

        assert (1, "") == (done.exit_code, done.stdout)
        assert "no price of gpt-5" in done.stderr
        assert "deepseek-flash, deepseek-v4-pro" in done.stderr


# --- calc


@pytest.mark.parametrize(
    ("arguments", "cny", "usd", "tier"),
    [
        (("--at", OFF_PEAK), "0.00032192", "0.000048288", "off_peak"),
        (("--at", PEAK), "0.00064384", "0.000096576", "peak"),
        (("--at", OFF_PEAK, "-m", "deepseek-v4-pro"), "0.0012774", "0.000187352", "off_peak"),
        (("--at", "2026-11-30T02:00Z", "--reasoning", "50"), "0.00064384", "0.000096576", "peak"),
        (("--at", "2026-11-30T10:00"), "0.00064384", "0.000096576", "peak"),  # by the Beijing clock
    ],
)
def test_tokens_cost(arguments: tuple[str, ...], cny: str, usd: str, tier: str) -> None:
    """Amounts are exact decimals, one row for each currency."""
    found = rows("calc", *COUNTS, *arguments)

    assert [("CNY", Decimal(cny), tier), ("USD", Decimal(usd), tier)] == [
        (row["currency"], Decimal(row["total"]), row["tier"]) for row in found
    ]
    assert {PriceBook.builtin().version} == {row["price_version"] for row in found}
    assert all(row["low"] == row["total"] == row["high"] for row in found)


def test_parts_of_a_cost() -> None:
    """The parts of a row sum to its total."""
    for row in rows("calc", *COUNTS, "--at", OFF_PEAK):
        assert Decimal(row["total"]) == sum(Decimal(row[part]) for part in ("hit", "miss", "output"))


def test_cost_of_now_has_no_exponents() -> None:
    """Without an instant prices are those of now; the smallest amount is written out."""
    assert all("E" not in row["total"] for row in rows("calc", "--prompt", "1", "--hit", "1"))


def test_cost_of_a_day_that_nobody_knows() -> None:
    """Where the holidays are not known the amounts are the ends of a range."""
    found = rows("calc", *COUNTS, "--at", "2029-03-05T10:00")

    assert ("unknown", "0.00032192", "0.00064384") == tuple(found[0][name] for name in ("tier", "low", "high"))
    assert "未知" in price("calc", *COUNTS, "--at", "2029-03-05T10:00", "--lang", "zh").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--prompt"),
        (("--prompt", "-1"), "--prompt"),
        (("--prompt", "1.5"), "--prompt"),
        (("--prompt", "1", "--hit", "2"), "--hit is a part of --prompt"),
        (("--prompt", "1", "--reasoning", "2"), "--reasoning is a part of --completion"),
        (("--prompt", "1", "--at", "noon"), "2026-10-01T10:00+08:00"),
        (("--prompt", "1", "--prices", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_command_lines_that_are_wrong(arguments: tuple[str, ...], words: str) -> None:
    """Counts that cannot be, and files that are not there, end with 2."""
    done = price("calc", *arguments)

    assert (2, "") == (done.exit_code, done.stdout)
    assert words in done.stderr


@pytest.mark.parametrize("instant", ["0001-01-01", "9999-12-31T23:59:59", "9999-12-31T23:59:59-12:00"])
def test_instants_at_the_ends_of_the_calendar(instant: str) -> None:
    """The first and the last day there is are days like others, with or without prices."""
    done = [price("show", "--at", instant), price("calc", *COUNTS, "--at", instant), price("check", "--at", instant)]

    assert {0, 1, 5} >= {one.exit_code for one in done}
    assert all(one.exception is None or isinstance(one.exception, SystemExit) for one in done)


def test_prices_since_the_first_day(file: Path) -> None:
    """A card may begin with the first day there is."""
    file.write_text(FREE.replace("CNY", "valid_from = 0001-01-01\nCNY"), encoding="utf-8")

    assert "0001-01-01" in rows("show", "--history", "-m", "mine", "--prices", str(file))[0]["valid_from"]


def test_prices_of_a_file(file: Path) -> None:
    """A file of prices counts where it is named, and where the settings name it."""
    named = rows("calc", "--prompt", "10", "-m", "mine", "--prices", str(file))
    settled = rows("calc", "--prompt", "10", "-m", "mine", DEEPSEEK_SDK_PRICES=str(file))

    assert [("CNY", "0.000000", "flat")] == [(row["currency"], row["total"], row["tier"]) for row in named]
    assert [{**row, "at": None} for row in named] == [{**row, "at": None} for row in settled]


def test_broken_file(file: Path) -> None:
    """A file that cannot be used is a mistake of the configuration; the place is named."""
    file.write_text(FREE.replace("miss = 0", "miss = '?'"))
    done = price("show", "--prices", str(file))

    assert (3, "") == (done.exit_code, done.stdout)
    assert "card 1 (mine).CNY.flat.miss" in done.stderr.replace("\n", "")


# --- check


def checked(done: Result) -> dict[str, str]:
    """Give the status of each check."""
    return {row["check"]: row["status"] for row in json.loads(done.stdout)}


def test_prices_that_are_fresh() -> None:
    """Prices that were compared with the service's own lately are fine."""
    done = price("check", "--holidays", "--at", "2026-11-30", "-o", "json")

    assert (0, {"file": "ok", "age": "ok", "models": "ok", "holidays": "ok"}) == (done.exit_code, checked(done))


@pytest.mark.parametrize(("at", "code"), [("2027-02-27", 0), ("2027-02-28", 5), ("2026-11-27", 5)])
def test_prices_that_are_old(at: str, code: int) -> None:
    """Prices older than 90 days, or from the future, end with 5."""
    done = price("check", "--at", at, "-o", "json")

    assert (code, "failed" if code else "ok") == (done.exit_code, checked(done)["age"])


@pytest.mark.parametrize("as_of", ["2026-12-02", "2027-11-30", "9999-12-31"])
@pytest.mark.parametrize(("language", "words"), [("en", "lies in the future"), ("zh", "在未来")])
def test_prices_of_the_future(file: Path, as_of: str, language: str, words: str) -> None:
    """A date in the future is called that, with the days until then; to compare prices would not help."""
    file.write_text(FREE.replace("2026-11-29", as_of))
    done = price("check", str(file), "--at", "2026-11-30", "--lang", language, "-o", "json")
    (age,) = (row for row in json.loads(done.stdout) if row["check"] == "age")
    days = (date.fromisoformat(as_of) - date(2026, 11, 30)).days

    assert (5, "failed") == (done.exit_code, age["status"])
    assert all(word in age["detail"] for word in (words, as_of, str(days)))
    assert f"-{days}" not in age["detail"].replace(as_of, "")
    assert "as_of" in age["advice"]


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (("--at", "2026-11-30", "--holidays"), 0, "ok"),
        (("--at", "2026-12-01"), 0, "warning"),  # the next year's should be known by now
        (("--at", "2026-12-01", "--holidays"), 5, "failed"),
        (("--at", "2027-01-04", "--holidays"), 5, "failed"),
    ],
)
def test_holidays_that_are_not_known(arguments: tuple[str, ...], code: int, status: str) -> None:
    """Holidays that are not known are a warning; with --holidays they are a failure."""
    done = price("check", *arguments, "-o", "json")

    assert (code, status) == (done.exit_code, checked(done)["holidays"])


def test_file_is_checked(file: Path) -> None:
    """A file is read, and its own age counts."""
    file.write_text(FREE.replace("2026-11-29", "2026-01-01"))
    done = price("check", str(file), "--at", "2026-11-30", "-o", "json")

    assert (5, "ok", "failed") == (done.exit_code, checked(done)["file"], checked(done)["age"])


def test_file_is_broken(file: Path) -> None:
    """A broken file ends with 5 and names its place; one that is not there is a mistake of the command line."""
    file.write_text(FREE + "[holidays.2027]\noff = [2026-01-01]\n")
    done = price("check", str(file), "-o", "json")

    assert (5, {"file": "failed"}) == (done.exit_code, checked(done))
    assert "holidays.2027.off" in done.stdout
    assert 2 == price("check", "nowhere.toml").exit_code


def test_prices_that_have_ended(file: Path) -> None:
    """A model whose prices have ended is named."""
    file.write_text(FREE.replace('"mine"', '"mine"\nvalid_until = 2026-11-01'))
    done = price("check", str(file), "--at", "2026-11-30", "-o", "json")

    assert (5, "failed") == (done.exit_code, checked(done)["models"])
    assert "no prices now: mine" in done.stdout


def test_checks_in_words() -> None:
    """A table has what to do below what was found, in the language asked for."""
    done = price("check", "--at", "2027-06-01", "--lang", "zh")

    assert 5 == done.exit_code
    assert all(word in done.stdout for word in ("失败", "→ 请与 DeepSeek 官网价格页核对", "警告"))


@pytest.mark.slow
def test_process() -> None:
    """A real process gives CSV for other programs."""
    done = run_program("price", "calc", *COUNTS, "--at", OFF_PEAK, "-o", "csv")
    found = list(csv.DictReader(io.StringIO(done.stdout)))

    assert (0, "", ["CNY", "USD"]) == (done.returncode, done.stderr, [row["currency"] for row in found])
