import os
from pathlib import Path

import pytest

from agentmig.execution.plumbing import RepositoryError
from agentmig.execution.repository import Repository
from tests.execution.projects import git, owned_by_another, project, submodule, write


def _bring(tmp_path: Path, folder: Path, revision: str = "HEAD", run: str = "run") -> tuple[Repository, Path]:
    """A run's repository, and a checkout of its base."""
    repository = Repository.create(str(folder), revision, tmp_path, tmp_path / run)
    return repository, repository.checkout(repository.base, tmp_path / f"{run}-checkout")


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def _same_as_a_persons_checkout(tmp_path: Path, folder: Path) -> Path:
    """Compare with a plain clone; returns our checkout."""
    git(tmp_path, "clone", "--quiet", str(folder), str(tmp_path / "by-hand"))
    _, checkout = _bring(tmp_path, folder)
    assert _files(checkout) == _files(tmp_path / "by-hand")
    return checkout


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A project with a submodule that has a submodule."""
    inner = project(tmp_path / "inner", {"inner.py": "inner\n"})
    outer = project(tmp_path / "lib", {"lib.py": "lib\n"})
    submodule(outer, "deep down", inner)
    folder = project(tmp_path / "a project", {"train.py": "1\n"})
    submodule(folder, "third party/lib", outer)
    allowed = ("-c", "protocol.file.allow=always")
    git(folder, *allowed, "submodule", "--quiet", "update", "--init", "--recursive")
    return folder


def test_submodules_are_complete_and_the_ids_are_the_same_every_time(tmp_path: Path, nested: Path) -> None:
    repository, checkout = _bring(tmp_path, nested)
    assert (checkout / "third party/lib/lib.py").read_text() == "lib\n"
    assert (checkout / "third party/lib/deep down/inner.py").read_text() == "inner\n"
    assert (checkout / ".gitmodules").read_bytes() == (nested / ".gitmodules").read_bytes()
    assert git(checkout, "status", "--porcelain") == ""
    assert "160000" not in git(repository.clean, "ls-tree", "-r", repository.base)
    assert _bring(tmp_path, nested, run="again")[0].base == repository.base
    assert git(nested, "status", "--porcelain") == ""


def test_a_submodule_is_found_where_it_is_not_checked_out(tmp_path: Path, nested: Path) -> None:
    expected = _bring(tmp_path, nested)[0].base
    git(nested, "submodule", "--quiet", "deinit", "--force", "--all")
    assert _bring(tmp_path, nested, run="absorbed")[0].base == expected


def test_a_submodule_with_a_git_folder_of_its_own(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    project(folder / "lib", {"lib.py": "lib\n"})
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./lib")
    git(folder, "commit", "--quiet", "-m", "lib")
    assert (folder / "lib/.git").is_dir()
    assert (_bring(tmp_path, folder)[1] / "lib/lib.py").read_text() == "lib\n"


def test_a_moved_project_keeps_its_submodules(tmp_path: Path, nested: Path) -> None:
    file = nested / "third party/lib/.git"
    file.write_text(f"gitdir: {nested}/.git/modules/third party/lib\n")
    moved = nested.rename(tmp_path / "moved")
    assert (_bring(tmp_path, moved)[1] / "third party/lib/lib.py").read_text() == "lib\n"


def test_submodules_of_a_linked_worktree(tmp_path: Path, nested: Path) -> None:
    git(nested, "worktree", "add", "--quiet", "../linked")
    assert (_bring(tmp_path, tmp_path / "linked")[1] / "third party/lib/lib.py").exists()


def test_only_submodules_inside_the_projects_folder_count(tmp_path: Path) -> None:
    folder = project(tmp_path / "outer", {"in/train.py": "1\n"})
    lib = project(tmp_path / "lib", {"lib.py": "lib\n"})
    submodule(folder, "beside", lib)
    submodule(folder, "in/lib", lib)
    git(folder, "submodule", "--quiet", "deinit", "--force", "beside")
    (folder / ".git/modules/beside").rename(tmp_path / "gone")
    repository = Repository.create("in", "HEAD", folder, tmp_path / "run")
    checkout = repository.checkout(repository.base, tmp_path / "checkout")
    assert set(_files(checkout)) == {"train.py", "lib/lib.py"}


def test_missing_submodules_are_told_with_what_to_do(tmp_path: Path, nested: Path) -> None:
    commit = git(nested / "third party/lib", "rev-parse", "HEAD")
    git(tmp_path, "clone", "--quiet", str(nested), "a clone")
    update = r"`git -C '.*a clone' submodule update --init --recursive`"
    with pytest.raises(RepositoryError, match=rf"third party/lib at {commit[:12]}; run {update}"):
        _bring(tmp_path, tmp_path / "a clone")
    allowed = ("-c", "protocol.file.allow=always")
    git(tmp_path / "a clone", *allowed, "submodule", "--quiet", "update", "--init")
    with pytest.raises(
        RepositoryError, match=r"a clone/third party/lib has .*deep down at .*submodule update"
    ):
        _bring(tmp_path, tmp_path / "a clone", run="second")
    write(nested, {"train.py": "2\n"})
    git(nested, "commit", "--quiet", "--all", "-m", "second")
    git(nested, "submodule", "--quiet", "deinit", "--force", "--all")
    (nested / ".git/modules").rename(tmp_path / "gone")
    with pytest.raises(RepositoryError, match=r"checkout [0-9a-f]{12}`, then `git -C .* submodule update"):
        _bring(tmp_path, nested, "HEAD~1", run="third")


def test_a_repository_that_was_added_by_mistake(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    project(folder / "lib", {"lib.py": "lib\n"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "without .gitmodules")
    assert (_bring(tmp_path, folder)[1] / "lib/lib.py").read_text() == "lib\n"
    (folder / "lib/.git").rename(tmp_path / "gone")
    with pytest.raises(RepositoryError, match=r"lib is not in \.gitmodules.*git rm --cached"):
        _bring(tmp_path, folder, run="second")


def test_a_name_that_leads_out_of_the_repository_is_not_followed(tmp_path: Path, nested: Path) -> None:
    other = project(tmp_path / "other", {"secret.py": "secret\n"})
    commit = git(other, "rev-parse", "HEAD")
    folder = project(
        tmp_path / "evil", {".gitmodules": '[submodule "../../../other/.git"]\n\tpath = lib\n\turl = x\n'}
    )
    (folder / ".git/modules").mkdir()
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
    git(folder, "commit", "--quiet", "-m", "evil")
    with pytest.raises(RepositoryError, match="not on this machine"):
        _bring(tmp_path, folder)


def test_a_project_that_is_a_submodule_itself(tmp_path: Path, nested: Path) -> None:
    assert (_bring(tmp_path, nested / "third party/lib")[1] / "lib.py").exists()
    git(nested, "submodule", "--quiet", "deinit", "--force", "--all")
    with pytest.raises(RepositoryError, match=r"no folder but a submodule; run .* submodule update"):
        _bring(tmp_path, nested / "third party/lib", run="second")


def test_attributes_change_what_they_change_for_a_person_and_run_nothing(tmp_path: Path) -> None:
    sign = tmp_path / "ran"
    folder = project(
        tmp_path / "project",
        {
            ".gitattributes": "*.txt text eol=crlf\n*.id ident\n*.x filter=evil diff=evil\n*.16 working-tree-encoding=UTF-16\n"
            "secret.py export-ignore\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
            **{
                "a.txt": "one\ntwo\n",
                "b.id": "$Id$\n",
                "c.x": "x\n",
                "secret.py": "1\n",
                "d.bin": "no pointer\n",
            },
        },
    )
    (folder / "u.16").write_bytes("grüß\n".encode("utf-16"))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "encoding")
    for kind in ("filter.evil.smudge", "filter.evil.clean", "diff.evil.textconv", "filter.lfs.smudge"):
        git(folder, "config", kind, f"touch '{sign}'; cat")
    git(folder, "config", "filter.evil.required", "true")
    git(folder, "config", "core.autocrlf", "true")
    hook = folder / ".git/hooks/post-checkout"
    write(hook.parent, {hook.name: f"#!/bin/sh\ntouch '{sign}'\n"})
    hook.chmod(0o755)
    checkout = _same_as_a_persons_checkout(tmp_path, folder)
    assert (checkout / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert (checkout / "b.id").read_text().startswith("$Id: ")
    assert (checkout / "u.16").read_bytes().decode("utf-16") == "grüß\n"
    assert not sign.exists()


def test_links_and_executable_bits_are_kept_as_they_are(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret\n")
    folder = project(tmp_path / "project", {"run.sh": "#!/bin/sh\n", "train.py": "1\n"})
    (folder / "run.sh").chmod(0o755)
    (folder / "absolute").symlink_to(outside)
    (folder / "relative").symlink_to("../outside")
    (folder / "inside").symlink_to("train.py")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "links")
    _, checkout = _bring(tmp_path, folder)
    assert (checkout / "absolute").readlink() == outside
    assert (checkout / "relative").readlink() == Path("../outside")
    assert (checkout / "inside").read_text() == "1\n"
    assert os.access(checkout / "run.sh", os.X_OK) and not os.access(checkout / "train.py", os.X_OK)


def test_an_empty_commit(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    with pytest.raises(RepositoryError, match=r"no commit 'HEAD'.*commit the project first"):
        _bring(tmp_path, folder)
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "nothing")
    repository, checkout = _bring(tmp_path, folder, run="second")
    assert _files(checkout) == {}
    assert repository.checkout(repository.base, tmp_path / "x", restore=["data"]).is_dir()
    assert repository.import_candidate(str(folder), "HEAD", tmp_path, tmp_path / "second") != repository.base


def test_strange_names_of_files(tmp_path: Path) -> None:
    names = [
        " leading space",
        "trailing space ",
        "new\nline",
        'quo"te',
        "*",
        ":(top)x",
        "grün",
        "tab\t",
        "-q",
    ]
    folder = project(tmp_path / "project", {name: name for name in names})
    (folder / os.fsdecode(b"latin-\xfc")).write_text("bytes\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "bytes")
    repository = Repository.create(str(folder), "HEAD", tmp_path, tmp_path / "run")
    worktree = repository.add_worktree()
    assert _files(worktree) == _files(folder)
    for path in worktree.iterdir():
        if path.name != ".git":
            path.write_text("changed\n")
    commit = repository.snapshot("s")
    assert commit != repository.base
    restored = repository.checkout(commit, tmp_path / "restored", restore=["*"])
    assert _files(restored) == _files(folder)


def test_a_shallow_clone(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    first = git(folder, "rev-parse", "HEAD")
    write(folder, {"train.py": "2\n"})
    git(folder, "commit", "--quiet", "--all", "-m", "second")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{folder}", "shallow")
    assert (_bring(tmp_path, tmp_path / "shallow")[1] / "train.py").read_text() == "2\n"
    with pytest.raises(RepositoryError, match="fetch --unshallow"):
        _bring(tmp_path, tmp_path / "shallow", first, run="second")


def test_a_partial_clone_says_what_is_missing_and_fetches_nothing(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n", "data/a": "a\n"})
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{folder}", "partial")
    remedy = r"2 objects of commit .*partial clone.*git -C \S+partial fetch --refetch --no-filter"
    with pytest.raises(RepositoryError, match=remedy):
        _bring(tmp_path, tmp_path / "partial")
    git(tmp_path / "partial", "fetch", "--quiet", "--refetch", "--no-filter")
    assert _files(_bring(tmp_path, tmp_path / "partial", run="second")[1]) == {
        "train.py": b"1\n",
        "data/a": b"a\n",
    }


def test_a_damaged_repository(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    blob = git(folder, "rev-parse", "HEAD:train.py")
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RepositoryError, match=r"1 object of commit .* is not in .*damaged"):
        _bring(tmp_path, folder)


def test_a_repository_that_borrows_its_objects(tmp_path: Path) -> None:
    folder = project(tmp_path / "a project", {"train.py": "1\n"})
    git(tmp_path, "clone", "--quiet", "--shared", "a project", "sharing")
    assert (_bring(tmp_path, tmp_path / "sharing")[1] / "train.py").read_text() == "1\n"
    alternates = tmp_path / "sharing/.git/objects/info/alternates"
    alternates.write_text("../../../a project/.git/objects\n")
    assert (_bring(tmp_path, tmp_path / "sharing", run="second")[1] / "train.py").read_text() == "1\n"
    assert git(folder, "status", "--porcelain") == ""


def test_worktrees_bare_repositories_and_urls(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    expected = _bring(tmp_path, folder)[0].base
    git(folder, "worktree", "add", "--quiet", "../linked")
    git(tmp_path, "clone", "--quiet", "--bare", "project", "bare.git")
    for number, name in enumerate(("linked", "bare.git")):
        assert _bring(tmp_path, tmp_path / name, run=f"run{number}")[0].base == expected
    by_url = Repository.create(f"file://{folder}", "HEAD", tmp_path, tmp_path / "url")
    assert by_url.base == expected
    with pytest.raises(
        RepositoryError, match=r"https://localhost:1/x can't be cloned.*clone it yourself"
    ) as caught:
        Repository.create("https://me:secret@localhost:1/x", "HEAD", tmp_path, tmp_path / "no")
    assert "secret" not in str(caught.value)


def test_a_git_file_that_leads_nowhere(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    git(folder, "worktree", "add", "--quiet", "../linked")
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(RepositoryError, match="mounted without the repository"):
        _bring(tmp_path, tmp_path / "linked")


def test_the_repository_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    owned_by_another(tmp_path / "bin", monkeypatch)
    repository, checkout = _bring(tmp_path, folder)
    assert _files(checkout) == {"train.py": b"1\n"}
    assert repository.add_worktree().is_dir()


def test_a_repository_with_longer_hashes(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--object-format=sha256")
    project(folder, {"train.py": "1\n", "evaluate.py": "1\n"})
    repository, checkout = _bring(tmp_path, folder)
    assert len(repository.base) == 64 and _files(checkout)["train.py"] == b"1\n"
    write(repository.add_worktree(), {"train.py": "2\n", "evaluate.py": "2\n"})
    changed = repository.checkout(repository.snapshot("s"), tmp_path / "changed", restore=["evaluate.py"])
    assert _files(changed) == {"train.py": b"2\n", "evaluate.py": b"1\n"}


def test_a_replaced_object_is_not_taken(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    expected = _bring(tmp_path, folder)[0].base
    write(folder, {"train.py": "2\n"})
    git(
        folder,
        "replace",
        git(folder, "rev-parse", "HEAD:train.py"),
        git(folder, "hash-object", "-w", "train.py"),
    )
    assert _bring(tmp_path, folder, run="second")[0].base == expected


def test_without_git_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path / "project", {"train.py": "1\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="git is not installed"):
        _bring(tmp_path, folder)
