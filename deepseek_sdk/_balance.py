"""`Balance`: what is left on the account."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import MalformedResponseError

__all__ = ["BALANCE_PATH", "Balance", "BalanceAmount", "read_balance"]

BALANCE_PATH = "/user/balance"


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceAmount:
    """
    What is left in one currency.

    Attributes:
        currency: "CNY" or "USD".
        total: All of it.
        granted: Of this, what was given; it is spent first.
        topped_up: Of this, what was paid for.
    """

    currency: str
    total: Decimal
    granted: Decimal
    topped_up: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """
    What is left on the account.

    Attributes:
        is_available: It is enough to call the API.
        amounts: What is left, one for each currency.
    """

    is_available: bool
    amounts: tuple[BalanceAmount, ...]


def read_balance(body: Any, base_url: object) -> Balance:
    """
    Read what the service says.

    Args:
        body: Its answer to GET /user/balance, decoded.
        base_url: Whom it is of.

    Returns:
        The balance.

    Raises:
        MalformedResponseError: It says something else.
    """
    try:
        amounts = tuple(_amount(info) for info in body["balance_infos"])
        return Balance(is_available=bool(body["is_available"]), amounts=amounts)
    except (KeyError, TypeError, InvalidOperation) as error:
        response = stub_response(200, f"{str(base_url).rstrip('/')}{BALANCE_PATH}")
        raise MalformedResponseError("This is no balance", raw=repr(body), response=response) from error


def _amount(info: Any) -> BalanceAmount:
    # "balance_infos" holds amounts as strings, such as "110.00" (API reference, get-user-balance).
    total, granted, topped_up = (Decimal(info[f"{kind}_balance"]) for kind in ("total", "granted", "topped_up"))
    return BalanceAmount(currency=str(info["currency"]), total=total, granted=granted, topped_up=topped_up)
