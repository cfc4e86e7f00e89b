"""The price book: what tokens and chips cost, with source and date. There is no price in code."""

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentmig.resources import resource
from agentmig.spec.loading import Problem, SpecError, read_toml

Dollars = Annotated[float, Field(ge=0)]


class Price(BaseModel):
    """A price with where and when it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    date: date


class ModelPrice(Price):
    """US dollars for a million tokens of each class."""

    input: Dollars
    output: Dollars
    cache_read: Dollars
    cache_write_5m: Dollars
    cache_write_1h: Dollars


class AcceleratorPrice(Price):
    """US dollars for an hour of one chip."""

    usd_per_chip_hour: Dollars


class PriceBook(BaseModel):
    """All prices that a migration was counted with; copied into its journal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[str, ModelPrice]
    accelerators: dict[str, AcceleratorPrice]

    def model(self, name: str) -> ModelPrice | None:
        """The price of a model, also when its name carries a date suffix; None if the book lacks it."""
        return next((p for key, p in self.models.items() if name == key or name.startswith(key + "-2")), None)


def load_prices(path: Path | None = None) -> PriceBook:
    """Read a price book; by default the one that ships with agentmig.

    Raises:
        SpecError: it can't be read or holds mistakes.
    """
    file = path or resource("prices", "default.toml")
    _, raw = read_toml(file)
    try:
        return PriceBook.model_validate(raw)
    except ValidationError as error:
        raise SpecError(
            [
                Problem(file, None, ".".join(map(str, d["loc"])), repr(d["input"]), d["msg"])
                for d in error.errors()
            ]
        ) from error
