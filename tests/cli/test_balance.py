"""`balance`: what is left on the account."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from deepseek_sdk.cli._app import app
from tests.cli.conftest import run_program
from tests.raw_server import RawServer, refusal, whole

if TYPE_CHECKING:
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdef"


def balance(url: str, *arguments: str) -> Result:
    """Run `balance` in this process against *url*."""
    return CliRunner().invoke(app, ["balance", "--base-url", url, *arguments], env={"DEEPSEEK_API_KEY": KEY})


def test_amounts_are_those_of_the_service(emulator: StartEmulator) -> None:
    """Each currency is a row; amounts are the decimals that the service sent, not rounded."""
    done = balance(emulator(api_key=KEY, balance={"CNY": "110.00", "USD": "0.10"}).url, "-o", "json")
    rows = json.loads(done.stdout)

    assert (0, [("CNY", "110.00"), ("USD", "0.10")]) == (
        done.exit_code,
        [(row["currency"], row["total"]) for row in rows],
    )
    assert {"currency", "total", "granted", "topped_up", "is_available"} == set(rows[0])


def test_table_in_chinese(emulator: StartEmulator) -> None:
    """A table is worded in the language asked for."""
    assert "充值余额" in balance(emulator().url, "--lang", "zh").stdout


def test_root_of_the_host_is_asked() -> None:
    """The balance lives at the root, also where the base URL is that of the beta."""
    body = {"is_available": True, "balance_infos": [{"currency": "CNY", "total_balance": "1.00"}]}
    with RawServer(whole(body)) as server:
        done = balance(f"{server.url}/beta")

    assert (0, "/user/balance") == (done.exit_code, server.requests[0].target)


def test_poor_account_is_told() -> None:
    """A balance that is not enough is still the answer; stderr says what it means."""
    body = {"is_available": False, "balance_infos": [{"currency": "CNY", "total_balance": "0.00"}]}
    with RawServer(whole(body)) as server:
        done = balance(server.url)

    assert 0 == done.exit_code
    assert "0.00" in done.stdout
    assert "top up" in done.stderr


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(401, 3, "AuthenticationError"), (402, 4, "APIStatusError"), (404, 1, "NotFoundError")],
)
def test_refusals_have_their_codes(status: int, code: int, kind: str) -> None:
    """A refused key ends with 3, an empty account with 4, anything else with 1; a key in the answer is not shown."""
    with RawServer(refusal(status, f"no: ****{KEY[-4:]} {KEY}")) as server:
        done = balance(server.url)

    assert (code, "") == (done.exit_code, done.stdout)
    assert kind in done.stderr
    assert KEY[-4:] not in done.output


@pytest.mark.parametrize("body", [b"<html>hello</html>", {"balance_infos": 5}, ["x"]])
def test_answer_that_is_no_balance(body: object) -> None:
    """What is no balance is said to be none."""
    with RawServer(whole(body)) as server:
        done = balance(server.url)

    assert (1, "") == (done.exit_code, done.stdout)
    assert "the endpoint answered, but not with" in done.stderr


def test_without_a_key() -> None:
    """Without a key the command ends with 3 and says where one is looked for."""
    done = CliRunner().invoke(app, ["balance"])

    assert 3 == done.exit_code
    assert all(word in done.stderr for word in ("DEEPSEEK_API_KEY", "config init --with-key"))


@pytest.mark.slow
def test_process(emulator: StartEmulator) -> None:
    """A real process gives CSV for other programs."""
    server = emulator(api_key=KEY)
    done = run_program("balance", "-o", "csv", DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=server.url)

    assert (0, "", "currency,total,granted,topped_up,is_available") == (
        done.returncode,
        done.stderr,
        done.stdout.splitlines()[0],
    )
