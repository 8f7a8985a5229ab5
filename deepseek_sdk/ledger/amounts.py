"""Amounts of money as whole numbers: the smallest price of a token is a few billionths."""

from __future__ import annotations

from decimal import Decimal

from deepseek_sdk.pricing.card import EXACT

__all__ = ["plain", "to_amount", "to_units"]

# Units of a currency have so many decimals.
_DECIMALS = 12
# What a row can hold; nobody owes so much for a call.
_MOST = 2**62


def to_units(amount: Decimal | None) -> int | None:
    """
    Make of an amount a whole number of 10^-12 of its currency.

    Args:
        amount: The amount; None where there is no price.

    Returns:
        The number, rounded where the amount has more decimals.
    """
    if amount is None:
        return None
    return min(int(EXACT.to_integral_value(EXACT.scaleb(amount, _DECIMALS))), _MOST)


def to_amount(units: int) -> Decimal:
    """
    Make of a number of 10^-12 of a currency an amount.

    Args:
        units: The number.

    Returns:
        The amount, exactly, without zeros at its end.
    """
    return Decimal(plain(EXACT.scaleb(Decimal(units), -_DECIMALS)))


def plain(amount: Decimal) -> str:
    """
    Write an amount without an exponent.

    Args:
        amount: The amount.

    Returns:
        Its digits, without zeros at its end.
    """
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
