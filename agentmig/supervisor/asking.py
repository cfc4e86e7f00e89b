"""How a person is reached, and what they say."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """What a person said to a question, and the minutes it took them."""

    text: str
    minutes: float


Ask = Callable[[str], Awaitable[Answer | None]]
"""Puts a question to a person; None when nobody is there to answer."""
