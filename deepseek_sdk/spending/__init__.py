"""Budgets: how much calls may spend, by user, session, tenant or tag, in a day, a month or for ever."""

from __future__ import annotations

from deepseek_sdk.spending.budget import SpendBudget
from deepseek_sdk.spending.budgets import Budgets
from deepseek_sdk.spending.state import BudgetState

__all__ = ["BudgetState", "Budgets", "SpendBudget"]
