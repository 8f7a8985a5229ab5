"""Files of prices: what they may say, and where they are wrong."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import deepseek_sdk
from deepseek_sdk.errors import PriceFileError
from deepseek_sdk.pricing import PriceBook, Prices
from tests.pricing.instants import at

if TYPE_CHECKING:
    from pathlib import Path

NOW = at("2026-11-30T10:00+08:00")
HEAD = "as_of = 2026-11-29\n"
CARD = """
[[card]]
model = "mine"
CNY.flat = { hit = 0, miss = 1.5, output = 3 }
"""


def book(folder: Path, text: str | bytes) -> PriceBook:
    """Write a file of prices and read it."""
    path = folder / "prices.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return PriceBook.from_file(path)


def test_file_is_laid_over_the_built_in_prices(tmp_path: Path) -> None:
    """A file adds models and keeps the others; *as_of* is its own, and the version is another."""
    prices, builtin = book(tmp_path, "as_of = 2026-12-01\n" + CARD), PriceBook.builtin()
    card = prices.card("mine", NOW)

    assert ("deepseek-flash", "deepseek-v4-pro", "mine") == prices.models
    assert card is not None
    assert (Prices(Decimal(0), Decimal("1.5"), Decimal(3)), {}) == (card.cny["flat"], card.usd)
    assert builtin.card("deepseek-flash", NOW) == prices.card("deepseek-flash", NOW)
    assert prices.version.startswith("2026-12-01+")
    assert builtin.version.partition("+")[2] != prices.version.partition("+")[2]


def test_file_may_count_alone(tmp_path: Path) -> None:
    """With `replace = true` nothing else has a price."""
    prices = book(tmp_path, HEAD + "replace = true\n" + CARD)

    assert ("mine",) == prices.models
    assert prices.card("deepseek-flash", NOW) is None


def test_version_changes_with_every_price(tmp_path: Path) -> None:
    """Two files that differ in one price have two versions, the same file has one."""
    first, again, other = (book(tmp_path, HEAD + text) for text in (CARD, CARD, CARD.replace("1.5", "1.6")))

    assert first.version == again.version
    assert first.version != other.version


def test_card_of_a_file_ends_the_built_in_ones(tmp_path: Path) -> None:
    """From the first instant that a file names for a model on only the file counts for it; before, the built-in."""
    text = CARD.replace('"mine"', '"deepseek-flash"\nvalid_from = 2026-09-01T00:00:00+08:00')
    prices, builtin = book(tmp_path, HEAD + text), PriceBook.builtin()
    before, after = at("2026-08-31T10:00+08:00"), NOW

    assert builtin.card("deepseek-flash", before) == prices.card("deepseek-flash", before)
    own = prices.card("deepseek-flash", after)
    assert own is not None
    assert own.is_flat


def test_other_names(tmp_path: Path) -> None:
    """A file may say that a gateway's name means a model that has prices."""
    prices = book(tmp_path, HEAD + '[aliases]\n"deepseek/flash" = "deepseek-flash"\n')

    assert prices.card("deepseek-flash", NOW) == prices.card("deepseek/flash", NOW)


def test_prices_of_one_host(tmp_path: Path) -> None:
    """Prices of a host hold there and nowhere else."""
    text = CARD.replace('"mine"', '"deepseek-flash"\nhost = "gpu.example"')
    prices = book(tmp_path, HEAD + text)
    there, elsewhere = (prices.card("deepseek-flash", NOW, host=host) for host in ("gpu.example", "api.deepseek.com"))

    assert there is not None
    assert (True, PriceBook.builtin().card("deepseek-flash", NOW)) == (there.is_flat, elsewhere)


def test_holidays_of_a_file(tmp_path: Path) -> None:
    """A file may name the holidays of a year that is not known yet."""
    prices = book(tmp_path, HEAD + "[holidays.2028]\noff = [2028-05-01]\n")
    off, on = at("2028-05-01T10:00+08:00"), at("2028-05-02T10:00+08:00")

    assert ("off_peak", "peak") == (prices.tariff.tier(off), prices.tariff.tier(on))
    assert {2026, 2027, 2028} == set(prices.years)


def test_tariff_of_a_file(tmp_path: Path) -> None:
    """A file may say when peak hours are; a window may go past midnight."""
    text = '[[tariff]]\nwindows = ["23:00-04:00", "12:00-24:00"]\ndays = ["Mon"]\n'
    tariff = book(tmp_path, HEAD + text).tariff

    # 2026-11-30 is a Monday.
    assert ["peak", "off_peak", "peak", "off_peak"] == [
        tariff.tier(at(f"2026-11-{instant}+08:00")) for instant in ("30T03:59", "30T04:00", "30T23:59", "29T23:00")
    ]


def test_prices_may_end(tmp_path: Path) -> None:
    """After *valid_until* there is no price, rather than a wrong one."""
    prices = book(tmp_path, HEAD + CARD.replace('"mine"', '"mine"\nvalid_until = 2026-11-30'))

    assert prices.card("mine", at("2026-11-29T23:59:59+08:00")) is not None
    assert prices.card("mine", at("2026-11-30T00:00:00+08:00")) is None


def test_meters_of_a_file(tmp_path: Path) -> None:
    """What is not counted in tokens can be given prices, too; others stay."""
    text = '[[meter]]\nname = "search"\nunit = "calls"\nper = 1000\nUSD = 1\n'
    meters = {meter.name: meter for meter in book(tmp_path, HEAD + text).meters}

    assert (None, Decimal(1), Decimal("1.5")) == (meters["search"].cny, meters["search"].usd, meters["ocr"].cny)


def test_prices_are_exact(tmp_path: Path) -> None:
    """A price is the decimal that is written, not the nearest binary fraction."""
    card = book(tmp_path, HEAD + CARD.replace("1.5", "0.1000000001")).card("mine", NOW)

    assert card is not None
    assert Decimal("0.1000000001") == card.cny["flat"].miss


def test_marks_of_windows(tmp_path: Path) -> None:
    """A byte order mark, which editors on Windows write, is no part of the file."""
    assert "mine" in book(tmp_path, b"\xef\xbb\xbf" + (HEAD + CARD).encode()).models


TIERED = "[[card]]\nmodel = 'x'\nCNY.peak = {hit = 1, miss = 1, output = 1}\n"
TARIFF = "[[tariff]]\nwindows = ['09:00-12:00']\ndays = ['Mon']\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("as_of = ", "no TOML: Invalid value (at end of document)"),
        (b"as_of = 2026-11-29\n# \xff", "the file is not UTF-8"),
        (CARD, "as_of: it is missing"),
        ("as_of = 2026-11-29T00:00:00Z", "as_of: a day such as"),
        ("as_of = '2026-11-29'", "as_of: a day such as 2026-11-29 is expected, not '2026-11-29'"),
        (HEAD + "as_off = 1", "as_off: there is no such key"),
        (HEAD + "replace = 1", "replace: true or false is expected, not 1"),
        (HEAD + "replace = true", "card: it has no prices"),
        (HEAD + "card = 1", "card: tables [[card]] are expected"),
        (HEAD + "card = [1]", "card 1: a table is expected"),
        (HEAD + "[[card]]\nmodel = 5", "card 1 (5).model: a text is expected, not 5"),
        (HEAD + "[[card]]\nmodel = 'x'", "card 1 (x): it has no prices"),
        (HEAD + CARD + "\n[[card]]\nmodel = 'x'\nCNY = 1", "card 2 (x).CNY: a table is expected"),
        (HEAD + TIERED, 'card 1 (x).CNY: either "flat", or "peak" and "off_peak", are expected'),
        (HEAD + CARD.replace("1.5", "-1.5"), "card 1 (mine).CNY.flat.miss: an amount from 0 to"),
        (HEAD + CARD.replace("1.5", "nan"), "card 1 (mine).CNY.flat.miss: an amount from 0 to"),
        (HEAD + CARD.replace("1.5", "1e400"), "card 1 (mine).CNY.flat.miss: an amount from 0 to"),
        (HEAD + CARD.replace("1.5", "1e-13"), "card 1 (mine).CNY.flat.miss: an amount from 0 to"),
        (HEAD + CARD.replace("1.5", "'1.5'"), "card 1 (mine).CNY.flat.miss: a number is expected, not '1.5'"),
        (HEAD + CARD.replace("1.5", "true"), "card 1 (mine).CNY.flat.miss: a number is expected, not True"),
        (HEAD + CARD.replace("miss = 1.5, ", ""), "card 1 (mine).CNY.flat.miss: it is missing"),
        (HEAD + CARD.replace("miss", "mist"), "card 1 (mine).CNY.flat.miss: it is missing"),
        (HEAD + CARD.replace("output = 3", "output = 3, cache = 1"), "card 1 (mine).CNY.flat.cache: there is no such"),
        (HEAD + CARD.replace("CNY", "EUR"), "card 1 (mine).EUR: there is no such key"),
        (HEAD + CARD + CARD, "card 2 (mine).valid_from: another card of the model begins at the same instant"),
        (HEAD + CARD + "valid_from = 2026-01-01T00:00:00", "card 1 (mine).valid_from: an instant with its offset"),
        (HEAD + CARD + "valid_from = 2026-01-02\nvalid_until = 2026-01-01", "card 1 (mine).valid_until: it must lie"),
        (HEAD + CARD + "USD.peak = {hit=1, miss=1, output=1}\nUSD.off_peak = {hit=1, miss=1, output=1}",
         "card 1 (mine).USD: the same tiers as in CNY are expected: flat"),
        (HEAD + TARIFF.replace("09:00", "9:00"), 'tariff 1.windows: hours such as "09:00-12:00" is expected'),
        (HEAD + TARIFF.replace("12:00", "25:00"), "tariff 1.windows: hours such as"),
        (HEAD + TARIFF.replace("Mon", "Monday"), "tariff 1.days: a day of Mon, Tue"),
        (HEAD + TARIFF.replace("['Mon']", "'Mon'"), "tariff 1.days: a list is expected"),
        (HEAD + TARIFF + "holidays = true", 'tariff 1.holidays: "peak" or "off_peak" is expected'),
        (HEAD + "[holidays.next]\noff = []", "holidays.next: a year such as 2026 is expected"),
        (HEAD + "[holidays]\n2027 = []", "holidays.2027: a table is expected"),
        (HEAD + "[holidays.2027]\noff = [2026-01-01]", "holidays.2027.off: all days must lie in 2027"),
        (HEAD + "[holidays.2027]\noff = [1]", "holidays.2027.off: a day such as"),
        (HEAD + "[holidays.2027]\noff = [2027-01-01]\nunsure = [2027-01-01]", "holidays.2027.unsure: a day is in off"),
        (HEAD + "[aliases]\nx = 1", "aliases.x: a text is expected, not 1"),
        (HEAD + "[[meter]]\nname = 'x'\nunit = 'y'\nper = 0", "meter 1 (x).per: a whole number above 0"),
        (HEAD + "replace = true\n" + TIERED + "CNY.off_peak = {hit = 1, miss = 1, output = 1}",
         "tariff: it is missing, and the prices of x depend on the hour"),
    ],
)  # fmt: skip
def test_broken_files_name_their_place(tmp_path: Path, text: str | bytes, place: str) -> None:
    """Whatever is wrong with a file, the error names the file, the table and the key."""
    with pytest.raises(PriceFileError) as caught:
        book(tmp_path, text)

    path = str(tmp_path / "prices.toml")
    assert path == caught.value.path
    assert f"{path}: {place}" in str(caught.value)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read is named."""
    with pytest.raises(PriceFileError, match=r"prices\.toml: it cannot be read: No such file"):
        PriceBook.from_file(tmp_path / "prices.toml")


class Nameless:
    """What names no file."""

    def __fspath__(self) -> str:
        """Give no path."""
        return ""


@pytest.mark.parametrize("read", [PriceBook.from_file, lambda path: deepseek_sdk.Client(api_key="k", prices=path)])
@pytest.mark.parametrize("path", ["", Nameless()])
def test_path_that_is_empty(read: Any, path: Any) -> None:
    """An empty path is no folder: the error says what is wrong with it."""
    with pytest.raises(PriceFileError, match="the path of a file of prices is empty"):
        read(path)


@pytest.mark.parametrize(
    ("aliases", "place"),
    [
        ({"a": "zzz"}, "aliases.a: zzz is no model that has prices; there are deepseek-flash,"),
        ({"fine": "mine", "a": "zzz"}, "aliases.a: zzz is no model"),
        ({"a": "b", "b": "zzz"}, "aliases.a: zzz is no model"),
        ({"a": "a"}, "aliases.a: it leads back to a"),
        ({"a": "b", "b": "a"}, "aliases.a: it leads back to a"),
        ({"a": "b", "b": "c", "c": "b"}, "aliases.a: it leads back to b"),
        ({"mine": "zzz"}, "aliases.mine: zzz is no model"),
        ({"deepseek-v4-flash": "zzz"}, "aliases.deepseek-v4-flash: zzz is no model"),
    ],
)
def test_other_names_that_lead_nowhere(tmp_path: Path, aliases: dict[str, str], place: str) -> None:
    """A name that leads to no prices, or in a circle, is refused: calls under it would go uncounted."""
    with pytest.raises(PriceFileError) as caught:
        book(tmp_path, HEAD + table_of(aliases) + CARD)

    assert f"prices.toml: {place}" in str(caught.value)


def table_of(aliases: dict[str, str]) -> str:
    """Write other names as a table."""
    return "[aliases]\n" + "".join(f'"{name}" = "{model}"\n' for name, model in aliases.items())


def test_other_names_in_a_file_that_counts_alone(tmp_path: Path) -> None:
    """Built-in models are no models of a file that counts alone; the library's own other names do not matter."""
    alone = HEAD + "replace = true\n"
    with pytest.raises(PriceFileError, match=r"aliases\.a: deepseek-flash is no model that has prices; there are mine"):
        book(tmp_path, alone + table_of({"a": "deepseek-flash"}) + CARD)

    assert book(tmp_path, alone + table_of({"a": "mine"}) + CARD).card("a", NOW) is not None


@pytest.mark.parametrize(
    "aliases",
    [{"a": "b", "b": "mine"}, {"a": "b", "b": "c", "c": "mine"}, {"a": "deepseek-v4-flash"}, {"a": "deepseek-chat"}],
)
def test_other_names_of_other_names(tmp_path: Path, aliases: dict[str, str]) -> None:
    """A name may stand for another one, of the file or of the library, that leads to prices."""
    prices = book(tmp_path, HEAD + table_of(aliases) + CARD)
    model = "deepseek-flash" if len(aliases) == 1 else "mine"

    assert prices.card("a", NOW) == prices.card(model, NOW) is not None


FULL = """
as_of = 2026-11-29
replace = false
[aliases]
a = "mine"
[[card]]
model = "mine"
host = "gpu.example"
valid_from = 2026-01-01
valid_until = 2027-01-01
source = "contract"
CNY.flat = { hit = 0, miss = 1, output = 2 }
USD.flat = { hit = 0, miss = 1, output = 2 }
[[tariff]]
windows = ["09:00-12:00"]
days = ["Mon"]
holidays = "peak"
valid_from = 2026-01-01
source = "contract"
[holidays.2027]
off = [2027-01-01]
unsure = []
source = "contract"
[[meter]]
name = "search"
unit = "calls"
per = 1000
CNY = 5
USD = 1
valid_from = 2026-01-01
source = "contract"
"""


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("as_of =", "as_of"),
        ("model =", "card 1.model"),
        ("miss =", "card 1 (mine).CNY.flat.miss"),
        ("windows =", "tariff 1 (2026-01-01).windows"),
        ("days =", "tariff 1 (2026-01-01).days"),
        ("off =", "holidays.2027.off"),
        ("name =", "meter 1.name"),
        ("unit =", "meter 1 (search).unit"),
        ("per =", "meter 1 (search).per"),
    ],
)
def test_keys_that_are_mistyped(tmp_path: Path, key: str, place: str) -> None:
    """Where a key is missing because it is mistyped, what is written is named beside it, and no key that is right."""
    assert "mine" in book(tmp_path, FULL).models
    with pytest.raises(PriceFileError) as caught:
        book(tmp_path, FULL.replace(key, f"x_{key}", 1))

    slip = f"'x_{key.partition(' ')[0]}'"
    assert str(caught.value).endswith(f"prices.toml: {place}: it is missing, and there is no such key as {slip}")


@pytest.mark.parametrize(
    ("tiers", "named"), [(("fat",), "fat"), (("peak", "offpeak"), "peak, offpeak"), ((), "nothing")]
)
def test_tiers_that_are_mistyped(tmp_path: Path, tiers: tuple[str, ...], named: str) -> None:
    """Tiers that do not exist are named."""
    inner = ", ".join(f"{tier} = {{ hit = 0, miss = 1, output = 2 }}" for tier in tiers)
    with pytest.raises(PriceFileError, match=rf"\(x\)\.CNY: either .* are expected, not {named}$"):
        book(tmp_path, HEAD + f"[[card]]\nmodel = 'x'\nCNY = {{ {inner} }}\n")
