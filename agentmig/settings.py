"""What a person sets once instead of with every command: `agentmig.toml` and `AGENTMIG_*` variables.

Options of a command come first, then environment variables, then the nearest `agentmig.toml` at or above the current
folder, then `agentmig/agentmig.toml` in the user's configuration folder.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from agentmig.errors import AgentmigError

FILE = "agentmig.toml"


class SettingsInvalid(AgentmigError):  # noqa: N818  it names what is wrong
    """A setting can't be used; names the file or variable, and the key."""


def _absolute(path: Path) -> Path:
    return path.expanduser().resolve()


Place = Annotated[Path, AfterValidator(_absolute)]
"""A path; `~` is the home folder. A relative one begins at the folder of the file that says it; in a variable, at the
current folder."""


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentmig"


class Settings(BaseSettings):
    """Every setting, its variable being `AGENTMIG_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="AGENTMIG_", extra="forbid", frozen=True)

    runs: Place = Field(default=Path(".agentmig/runs"), validate_default=True)
    """Where runs are kept."""
    cache: Place = Field(default_factory=_user_cache)
    """Where environments (several GB each) and reference results are kept, shared by all projects."""
    policy: Place | None = None
    """Stopping policy, instead of the one that ships with agentmig."""
    prices: Place | None = None
    """Price book, instead of the one that ships with agentmig."""
    isolation: Literal["required", "optional"] = "required"
    """`optional`: go on where bubblewrap doesn't work, as `--no-isolation` does."""
    quiet: bool = False
    """Print only the end of what a command has to say, as `--quiet` does."""
    human_usd_per_hour: Annotated[float, Field(ge=0)] | None = None
    """What an hour of a person costs you, in US dollars; without it people's minutes are not turned into money."""

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **named: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Variables over files; the nearest file over the user's."""
        files = [_File(settings_cls, file) for file in configuration_files()]
        return (named["init_settings"], named["env_settings"], *files)


class _File(TomlConfigSettingsSource):
    """A configuration file; its relative paths begin where it lies."""

    def __init__(self, settings_cls: type[BaseSettings], file: Path):
        self._folder = file.parent
        super().__init__(settings_cls, file)

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        values = super()._read_file(file_path)
        for name in ("runs", "cache", "policy", "prices"):
            if isinstance(values.get(name), str):
                values[name] = str(self._folder / Path(values[name]).expanduser())
        return values


def configuration_files() -> list[Path]:
    """The files that are read, the one that wins first."""
    here = Path.cwd()
    near = [folder / FILE for folder in (here, *here.parents)]
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "agentmig" / FILE
    return [*[file for file in near if file.is_file()][:1], *([home] if home.is_file() else [])]


def settings() -> Settings:
    """The settings as they are now.

    Raises:
        SettingsInvalid: a file can't be read, or a value is wrong; every mistake is listed.
    """
    try:
        return Settings()
    except ValidationError as error:
        lines = [
            f"{'.'.join(map(str, d['loc']))}: found {d['input']!r}; {d['msg'][0].lower()}{d['msg'][1:]}"
            for d in error.errors()
        ]
        raise SettingsInvalid("\n  ".join([f"settings ({_places()}):", *lines])) from error
    except (SettingsError, ValueError, OSError) as error:
        raise SettingsInvalid(f"settings ({_places()}): {error}") from error


def _places() -> str:
    variables = [
        name for name in os.environ if name.removeprefix("AGENTMIG_").lower() in Settings.model_fields
    ]
    return ", ".join([*map(str, configuration_files()), *sorted(variables)]) or "defaults"
