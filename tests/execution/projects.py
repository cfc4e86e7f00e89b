"""Small git projects for tests."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as a person with an identity would."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def project(folder: Path, files: dict[str, str]) -> Path:
    """A repository with one commit of `files`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files, with their folders."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def submodule(folder: Path, path: str, of: Path) -> None:
    """Add a repository on this machine as a submodule, and commit that."""
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(of), path)
    git(folder, "commit", "--quiet", "--all", "-m", f"submodule {path}")


def pointer(content: bytes) -> str:
    """The Git LFS pointer of a content."""
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"


def store(git_dir: Path, content: bytes) -> Path:
    """Put a content into a repository's LFS store."""
    digest = hashlib.sha256(content).hexdigest()
    place = git_dir / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def owned_by_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git on PATH that takes every repository for another user's."""
    write(folder, {"git": f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n'})
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


PEAK = """
def peak_mb():
    # Not `ru_maxrss`, in which the process that started this one is counted too.
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
"""
"""Source of a function that says how much memory the process itself had at its peak, in MiB."""
