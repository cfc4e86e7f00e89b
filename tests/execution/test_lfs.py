import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.execution.lfs import Pointer, parse_pointer
from agentmig.execution.plumbing import RepositoryError
from agentmig.execution.repository import Repository
from tests.execution.projects import PEAK, git, pointer, project, store, submodule, write

WEIGHTS = b"\0weights\xff\r\n" * 1000
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
FILES = {".gitattributes": ATTRIBUTES, "model.bin": pointer(WEIGHTS), "train.py": "1\n"}


def _base(tmp_path: Path, folder: Path, project: str = ".", run: str = "run") -> tuple[Repository, Path]:
    repository = Repository.create(project, "HEAD", folder, tmp_path / run)
    return repository, repository.checkout(repository.base, tmp_path / f"{run}-checkout")


@given(st.binary(max_size=300))
def test_the_pointer_of_a_content_is_read(content: bytes) -> None:
    read = parse_pointer(pointer(content).encode())
    assert read is not None
    assert (
        pointer(content)
        == f"version https://git-lfs.github.com/spec/v1\noid sha256:{read.sha256}\nsize {read.size}\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "see https://git-lfs.github.com/spec/v1\n",
        f"# A pointer looks like this:\n{pointer(b'x')}",
        f"{pointer(b'x')}and so on\n",
        pointer(b"x").replace("sha256:", "sha1:"),
        pointer(b"x").replace("size 1", "size one"),
        pointer(b"x").upper(),
    ],
)
def test_what_only_looks_like_a_pointer_is_none(text: str) -> None:
    assert parse_pointer(text.encode()) is None


def test_older_pointers_are_read() -> None:
    old = pointer(b"x").replace("git-lfs.github.com", "hawser.github.com")
    assert parse_pointer(old.encode()) == Pointer(parse_pointer(pointer(b"x").encode()).sha256, 1)  # type: ignore[union-attr]


def test_pointers_are_replaced_by_their_contents(tmp_path: Path) -> None:
    folder = project(
        tmp_path / "a project", {**FILES, "in/größe x.bin": pointer(b"other"), "twice.bin": pointer(WEIGHTS)}
    )
    (folder / "twice.bin").chmod(0o755)
    git(folder, "commit", "--quiet", "--all", "-m", "mode")
    store(folder / ".git", WEIGHTS)
    store(folder / ".git", b"other")
    repository, checkout = _base(tmp_path, folder)
    assert (checkout / "model.bin").read_bytes() == (checkout / "twice.bin").read_bytes() == WEIGHTS
    assert (checkout / "in/größe x.bin").read_bytes() == b"other"
    assert not os.access(checkout / "model.bin", os.X_OK) and os.access(checkout / "twice.bin", os.X_OK)
    assert (checkout / ".gitattributes").read_text() == ATTRIBUTES
    assert _base(tmp_path, folder, run="again")[0].base == repository.base
    assert git(folder, "status", "--porcelain") == ""


def test_a_pointer_that_no_attribute_gives_to_lfs_stays_as_git_leaves_it(tmp_path: Path) -> None:
    folder = project(
        tmp_path / "project", {"docs/example.txt": pointer(b"x"), **FILES, "model.bin": "real\n" * 50}
    )
    _, checkout = _base(tmp_path, folder)
    assert (checkout / "docs/example.txt").read_text() == pointer(b"x")
    assert (checkout / "model.bin").read_text() == "real\n" * 50


def test_attributes_above_the_projects_folder_count(tmp_path: Path) -> None:
    folder = project(tmp_path / "outer", {".gitattributes": ATTRIBUTES, "in/model.bin": pointer(WEIGHTS)})
    store(folder / ".git", WEIGHTS)
    assert (_base(tmp_path, folder, "in")[1] / "model.bin").read_bytes() == WEIGHTS


def test_contents_that_are_not_here_are_listed_with_what_to_do(tmp_path: Path) -> None:
    many = {f"m{number}.bin": pointer(b"%d" % number) for number in range(5)}
    folder = project(tmp_path / "a project", {**FILES, **many})
    first = git(folder, "rev-parse", "HEAD")
    store(folder / ".git", WEIGHTS)
    said = (
        rf"keeps 5 files in Git LFS .*m0\.bin, m1\.bin, m2\.bin and 2 more; run `git -C '{folder}' lfs pull`"
    )
    with pytest.raises(RepositoryError, match=said):
        _base(tmp_path, folder)
    write(folder, {"train.py": "2\n"})
    git(folder, "commit", "--quiet", "--all", "-m", "second")
    with pytest.raises(RepositoryError, match=rf"checkout {first[:12]}`, then `git -C .* lfs pull`"):
        Repository.create(str(folder), first, folder, tmp_path / "other")


def test_a_damaged_content_is_an_error(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", FILES)
    store(folder / ".git", WEIGHTS).write_bytes(WEIGHTS[:-1] + b"x")
    with pytest.raises(RepositoryError, match="damaged"):
        _base(tmp_path, folder)


def test_the_store_may_be_elsewhere(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", FILES)
    store(folder / ".git", WEIGHTS)
    git(folder, "worktree", "add", "--quiet", "../linked")
    assert (_base(tmp_path, tmp_path / "linked", run="linked-run")[1] / "model.bin").read_bytes() == WEIGHTS
    git(tmp_path, "clone", "--quiet", "--reference", "project", f"file://{folder}", "referring")
    assert (
        _base(tmp_path, tmp_path / "referring", run="referring-run")[1] / "model.bin"
    ).read_bytes() == WEIGHTS
    (folder / ".git/lfs").rename(tmp_path / "lfs store")
    git(folder, "config", "lfs.storage", str(tmp_path / "lfs store"))
    assert (_base(tmp_path, folder)[1] / "model.bin").read_bytes() == WEIGHTS


def test_a_submodule_has_a_store_of_its_own(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    submodule(folder, "lib", project(tmp_path / "lib", FILES))
    with pytest.raises(RepositoryError, match=rf"run `git -C {folder}/lib lfs pull`"):
        _base(tmp_path, folder)
    store(folder / ".git/modules/lib", WEIGHTS)
    assert (_base(tmp_path, folder, run="second")[1] / "lib/model.bin").read_bytes() == WEIGHTS


def test_a_candidates_pointers_are_replaced_too(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", FILES)
    store(folder / ".git", WEIGHTS)
    repository = Repository.create(".", "HEAD", folder, tmp_path / "run")
    write(folder, {"train.py": "2\n"})
    git(folder, "commit", "--quiet", "--all", "-m", "by hand")
    candidate = repository.import_candidate(".", "HEAD", folder, tmp_path / "run")
    changed = git(repository.clean, "diff-tree", "-r", "--name-only", repository.base, candidate)
    assert changed == "train.py"


def test_a_git_lfs_of_the_system_does_not_turn_the_agents_files_into_pointers(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", FILES)
    store(folder / ".git", WEIGHTS)
    repository = Repository.create(".", "HEAD", folder, tmp_path / "run")
    worktree = repository.add_worktree()
    os.utime(worktree / "model.bin", (1, 1))
    configured = ["-c", "filter.lfs.clean=echo a pointer", "-c", "filter.lfs.required=true"]
    git(worktree, *configured, "add", "--all")
    assert git(worktree, *configured, "status", "--porcelain") == ""


def test_a_large_content_is_not_read_into_memory(tmp_path: Path) -> None:
    size = 160 * 2**20
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    subprocess.run(
        ["sh", "-c", f"head -c {size} /dev/zero > content && sha256sum content | cut -c -64 > name"],
        cwd=tmp_path,
        check=True,
    )
    digest = (tmp_path / "name").read_text().strip()
    place = folder / ".git/lfs/objects" / digest[:2] / digest[2:4] / digest
    place.parent.mkdir(parents=True)
    (tmp_path / "content").rename(place)
    write(
        folder,
        {"model.bin": f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"},
    )
    write(folder, {".gitattributes": ATTRIBUTES})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "large")
    code = (
        f"{PEAK}\n"
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from agentmig.execution.repository import Repository\n"
        "repository = Repository.create(sys.argv[1], 'HEAD', Path('/'), Path(sys.argv[2]))\n"
        "print(max(peak_mb(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 120  # MiB
    listed = git(tmp_path / "run/clean.git", "ls-tree", "-l", "agentmig", "model.bin")
    assert listed.split()[3] == str(size)
