"""Files that a repository keeps in Git LFS: a commit holds pointers, the contents lie in a store beside the objects.

Pointers are replaced by the contents that the store on this machine has; the program git-lfs is not needed.
"""

import hashlib
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from agentmig.execution.plumbing import RepositoryError, git, git_bytes, items, lines, shown
from agentmig.execution.sources import Source

_POINTER = re.compile(
    rb"version (?:https://git-lfs\.github\.com/spec/v1|https://hawser\.github\.com/spec/v1|http://git-media\.io/v/2)\n"
    rb"oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n?"
)
_SMALLEST = 100
_LARGEST = 1023
"""Bytes; the specification says that a pointer is smaller than 1024."""
_SHOWN = 3
_CHUNK = 1 << 20


class Blob(NamedTuple):
    """A file in a tree.

    Attributes:
        mode: as git writes it, `100755` for an executable one.
        object: its id.
        size: bytes.
        path: inside the project.
    """

    mode: str
    object: str
    size: int
    path: str


class Pointer(NamedTuple):
    """What a pointer says of a file's content."""

    sha256: str
    size: int


def parse_pointer(content: bytes) -> Pointer | None:
    """The pointer that a file is; None for every other file, also for one that only mentions a pointer."""
    found = _POINTER.fullmatch(content)
    return Pointer(found[1].decode(), int(found[2])) if found else None


def large_files(source: Source, commit: str, blobs: Iterable[Blob], clean: Path) -> list[Blob]:
    """Put the contents of a commit's LFS files into a repository; returns the files as they must be in the tree.

    Args:
        source: the repository that the commit is in.
        commit: its full id.
        blobs: the files of the project's folder.
        clean: the repository that gets the contents; it has the blobs already.

    Raises:
        RepositoryError: a content is not on this machine, or isn't what the pointer says.
    """
    small = [blob for blob in blobs if _SMALLEST <= blob.size <= _LARGEST and blob.mode.startswith("100")]
    pointers = _pointers(clean, _kept_by_lfs(source, commit, small, clean))
    if not pointers:
        return []
    stores = _stores(source)
    places = {pointer: _place(pointer, stores) for _, pointer in pointers}
    missing = [blob for blob, pointer in pointers if places[pointer] is None]
    if missing:
        raise RepositoryError(_missing(source, commit, missing))
    objects = _written(clean, {pointer: store for pointer, store in places.items() if store})
    return [blob._replace(object=objects[pointer], size=pointer.size) for blob, pointer in pointers]


def _kept_by_lfs(source: Source, commit: str, blobs: Sequence[Blob], clean: Path) -> list[Blob]:
    """Those that the commit's own `.gitattributes` hand to LFS: git leaves a pointer elsewhere as it is."""
    if not blobs:
        return []
    prefix = f"{source.folder}/" if source.folder else ""
    with tempfile.TemporaryDirectory(dir=clean) as scratch:
        # The whole commit is read, since folders above the project's have a say.
        env = {**source.borrowed(), "GIT_INDEX_FILE": str(Path(scratch) / "index")}
        git(clean, "read-tree", commit, env=env)
        paths = lines([prefix + blob.path for blob in blobs])
        said = items(git(clean, "check-attr", "--cached", "-z", "--stdin", "filter", stdin=paths, env=env))
    return [blob for blob, value in zip(blobs, said[2::3], strict=True) if value == "lfs"]


def _pointers(clean: Path, blobs: Sequence[Blob]) -> list[tuple[Blob, Pointer]]:
    names = "".join(f"{blob.object}\n" for blob in blobs).encode()
    contents = git_bytes(clean, "cat-file", "--batch", stdin=names) if blobs else b""
    found = []
    position = 0
    for blob in blobs:
        position = contents.index(b"\n", position) + 1
        pointer = parse_pointer(contents[position : position + blob.size])
        position += blob.size + 1
        if pointer:
            found.append((blob, pointer))
    return found


def _stores(source: Source) -> list[Path]:
    """Folders with LFS contents: the repository's, and those of the repositories it borrows objects from."""
    try:
        configured = source.ask("config", "--type=path", "lfs.storage")
    except RepositoryError:
        configured = "lfs"
    stores = [source.shared / configured / "objects"]
    borrowed = source.shared / "objects" / "info" / "alternates"
    if borrowed.is_file():
        for line in borrowed.read_text(errors="surrogateescape").splitlines():
            stores.append((source.shared / "objects" / line).parent / "lfs" / "objects")
    return [store for store in stores if store.is_dir()]


def _inside(pointer: Pointer) -> str:
    return f"{pointer.sha256[:2]}/{pointer.sha256[2:4]}/{pointer.sha256}"


def _place(pointer: Pointer, stores: Sequence[Path]) -> Path | None:
    return next((store for store in stores if (store / _inside(pointer)).is_file()), None)


def _written(clean: Path, places: dict[Pointer, Path]) -> dict[Pointer, str]:
    """Ids of the contents, after they were written."""
    by_store: dict[Path, list[Pointer]] = defaultdict(list)
    for pointer, store in places.items():
        _verify(pointer, store / _inside(pointer))
        by_store[store].append(pointer)
    objects: dict[Pointer, str] = {}
    for store, pointers in by_store.items():
        argv = ["-c", "core.compression=1", "hash-object", "-w", "--no-filters", "--stdin-paths"]
        names = "".join(f"{_inside(pointer)}\n" for pointer in pointers)
        made = git(clean.resolve(), *argv, stdin=names.encode(), cwd=store).split()
        objects |= dict(zip(pointers, made, strict=True))
    return objects


def _verify(pointer: Pointer, file: Path) -> None:
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
        size = os.fstat(handle.fileno()).st_size
    if (digest.hexdigest(), size) != pointer:
        raise RepositoryError(
            f"{file}: the Git LFS file is damaged (its content is not the one that it is named after); delete it and "
            "run `git lfs pull` in the project"
        )


def _missing(source: Source, commit: str, missing: Sequence[Blob]) -> str:
    names = ", ".join(shown(blob.path) for blob in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return (
        f"commit {commit[:12]} of {source.name} keeps {len(missing)} file{'s' if len(missing) != 1 else ''} in Git LFS "
        f"whose contents are not on this machine: {names}{more}; {source.remedy(commit, 'lfs pull')}"
    )
