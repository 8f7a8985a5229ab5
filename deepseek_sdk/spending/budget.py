"""`SpendBudget`: how much may be spent, by whom and in what time."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_share
from deepseek_sdk.spending.period import Period, period_of

if TYPE_CHECKING:
    from deepseek_sdk._record import Record

__all__ = ["MOST", "SpendBudget", "Unit", "told"]

Unit: TypeAlias = Literal["CNY", "USD", "tokens"]

# Amounts are whole numbers of 10**-12 of a currency: no price of a single token has more decimals. SQLite adds them as
# 64 bits, and what is spent and what is reserved must fit in together.
_PARTS = 10**12
MOST = 4 * 10**18
_KEYS = ("user", "session", "tenant")
_FARTHEST_H = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendBudget:
    """
    How much calls may spend; a call that may need more than is left raises `BudgetExceededError`, and nothing is sent.

        SpendBudget(limit=20, period="day")                          20 CNY a day, all calls together
        SpendBudget(limit="0.5", unit="USD", per="user", period="month")    half a dollar a month for each user
        SpendBudget(limit=2_000_000, unit="tokens", per="session")   for each session, and never anew
        SpendBudget(limit=5, per="tag:feature", period="day")        for each value of the tag "feature"
        SpendBudget(limit=5, per="user", require_key=True)           a call without a user is refused
        SpendBudget(limit=5, soft=0.8)                               warns from 4 CNY on
        SpendBudget(limit=5, soft=0.8, on_soft="lighter")            from 4 CNY on a lighter model or route goes first
        SpendBudget(limit=5, reserve="worst")                        no call goes that might pass the limit
        SpendBudget(limit=5, period="day", utc_offset=0)             the day is that of UTC
        SpendBudget(limit=5, unpriced="refuse")                      no call goes whose price nobody knows

    Before a call is sent, what it may need is reserved; afterwards that is replaced by what it has used, failed and
    abandoned attempts included. "expected" reserves an estimate of the prompt and of a long answer, as they have been,
    so that calls which run longer than nineteen of twenty can pass the limit by what they run longer. "worst" reserves
    *max_tokens*, or what the service takes in its place, for every attempt that the call may make.

    Attributes:
        limit: How much, in *unit*; a number or a string. Fractions of 10**-12 are dropped.
        unit: "CNY" and "USD" by DeepSeek's price list in that currency, or "tokens" of prompts and answers.
        per: Whose calls are counted together: those of a "user", a "session", a "tenant" or a "tag:NAME"; None: all. A
            call that does not say whose it is, is not counted.
        period: After a "day" or a "month" it begins anew; None: never.
        soft: The share of the limit from which on *on_soft* is done, what is reserved counted in, or None.
        on_soft: "warn" logs once for each user and period, "lighter" also lets a lighter model answer.
        reserve: "expected" or "worst".
        require_key: A call that does not say whose it is, is refused.
        unpriced: What happens to calls to a model without a known price where the unit is a currency: "allow" lets them
            through uncounted and logs it, "refuse" refuses them. An engine in the process costs nothing.
        utc_offset: How many hours the clock is ahead of UTC by which days and months begin; Beijing's by default. There
            is no summer time.
        name: What errors call it; budgets of the same name and file count together. Not given: made of the others.
    """

    limit: Any
    unit: Unit = "CNY"
    per: str | None = None
    period: Period | None = None
    soft: float | None = None
    on_soft: Literal["warn", "lighter"] = "warn"
    reserve: Literal["expected", "worst"] = "expected"
    require_key: bool = False
    unpriced: Literal["allow", "refuse"] = "allow"
    utc_offset: float = 8
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", _amount(self.limit))
        _check_choice("unit", self.unit, get_args(Unit))
        _check_choice("period", self.period, (None, *get_args(Period)))
        _check_choice("on_soft", self.on_soft, ("warn", "lighter"))
        _check_choice("reserve", self.reserve, ("expected", "worst"))
        _check_choice("unpriced", self.unpriced, ("allow", "refuse"))
        _check_per(self.per)
        if self.soft is not None:
            check_share("soft", self.soft)
        _check_offset(self.utc_offset)
        _check_name(self.name)
        if self.parts > MOST:
            raise ConfigurationError(f"limit must be at most {told(MOST, self.unit):f} {self.unit}, not {self.limit}")
        if not self.name:
            object.__setattr__(self, "name", f"{self.per or 'all'}/{self.period or 'ever'}/{self.unit}")

    @property
    def parts(self) -> int:
        """The limit as a whole number: tokens, or 10**-12 of the currency."""
        with localcontext(prec=60):
            return int((self.limit * (1 if self.unit == "tokens" else _PARTS)).to_integral_value(ROUND_FLOOR))

    def scope_of(self, record: Record) -> str | None:
        """
        Say whose call it is.

        Args:
            record: The record of the call.

        Returns:
            The key, "" where all calls count together, or None where the call does not say.
        """
        if self.per is None:
            return ""
        if self.per == "user":
            return record.user or None
        if self.per == "session":
            return record.session_id or None
        return (record.tenant if self.per == "tenant" else record.tags.get(self.per[4:])) or None

    def period_at(self, at: float) -> tuple[int, int | None]:
        """
        Find the period of an instant.

        Args:
            at: The instant, in seconds since 1970.

        Returns:
            Its beginning and its end, in seconds since 1970; the end is None where it has none.
        """
        return period_of(at, self.period, self.utc_offset)

    def label(self, scope: str) -> str:
        """
        Name a scope for people.

        Args:
            scope: The key.

        Returns:
            Such as "user 42", or "all".
        """
        return "all" if self.per is None else f"{self.per} {scope}"


def told(parts: int, unit: str) -> Decimal:
    """
    Make an amount of a whole number of its smallest parts.

    Args:
        parts: It.
        unit: The unit.

    Returns:
        The amount, exactly.
    """
    if unit == "tokens":
        return Decimal(parts)
    with localcontext(prec=60):
        amount = Decimal(parts) / _PARTS
        return amount.quantize(Decimal(1)) if amount == amount.to_integral_value() else amount.normalize()


def parts_of(amount: Any, unit: str) -> int:
    """
    Count the smallest parts of an amount that may be negative.

    Args:
        amount: It.
        unit: The unit.

    Returns:
        The whole number, rounded down.

    Raises:
        ConfigurationError: It is no finite number.
    """
    value = _number("amount", amount)
    with localcontext(prec=60):
        return int((value * (1 if unit == "tokens" else _PARTS)).to_integral_value(ROUND_FLOOR))


def _amount(given: Any) -> Decimal:
    value = _number("limit", given)
    if value < 0:
        raise ConfigurationError(f"limit must be 0 or more, not {given!r}")
    return value


def _number(name: str, given: Any) -> Decimal:
    if isinstance(given, bool) or not isinstance(given, Decimal | int | float | str):
        raise ConfigurationError(f"{name} must be a number or a string, not {given!r}")
    try:
        # By way of its text, 0.1 is a tenth.
        value = Decimal(str(given))
    except InvalidOperation as error:
        raise ConfigurationError(f"{name} must be a number, not {given!r}") from error
    if not value.is_finite():
        raise ConfigurationError(f"{name} must be finite, not {given!r}")
    return value


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def _check_per(per: object) -> None:
    if per is None or (isinstance(per, str) and (per in _KEYS or (per.startswith("tag:") and len(per) > len("tag:")))):
        return
    raise ConfigurationError(f'per must be "user", "session", "tenant", "tag:NAME" or None, not {per!r}')


def _check_offset(hours: object) -> None:
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not -_FARTHEST_H <= hours <= _FARTHEST_H:
        raise ConfigurationError(f"utc_offset must be a number of hours, -14 to 14, not {hours!r}")


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ConfigurationError(f"name must be a string, not {name!r}")
