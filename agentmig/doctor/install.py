"""How a system package is got on this machine, in a command."""

import os
import shutil
from collections.abc import Sequence

_MANAGERS = {
    "apt-get": "apt-get install -y",
    "dnf": "dnf install -y",
    "zypper": "zypper install -y",
    "apk": "apk add",
    "pacman": "pacman -S --noconfirm",
}


def install(packages: Sequence[str]) -> str:
    """The command that installs system packages with the package manager that is here."""
    manager = next((command for name, command in _MANAGERS.items() if shutil.which(name)), None)
    if manager is None:
        return f"install {' and '.join(packages)} with this system's package manager"
    return as_root(f"{manager} {' '.join(packages)}")


def as_root(command: str) -> str:
    """A command that only root can give."""
    return command if os.geteuid() == 0 else f"sudo {command}"
