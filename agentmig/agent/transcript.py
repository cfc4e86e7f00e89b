"""A copy of Claude Code's own record, kept as it grows: word for word, whatever the lines hold.

The CLI deletes its records after a while and may rewrite them; the copy only ever grows.
"""

from pathlib import Path


class TranscriptCopy:
    """Copies `<config>/projects/<project>/<session>.jsonl` and what lies below to a run's folder."""

    def __init__(self, config_dir: Path, folder: Path):
        """Start a copy, or go on with one.

        Args:
            config_dir: the CLI's private configuration folder.
            folder: where the copies go: `<session>.jsonl`, and `<session>/subagents/…` for subagents.
        """
        self._projects = config_dir / "projects"
        self._folder = folder
        self._read: dict[Path, int] = {}

    def sweep(self, final: bool = False) -> None:
        """Copy the complete lines that were added since the last sweep.

        Args:
            final: the CLI is gone: copy a last line that was cut off too.
        """
        for project in sorted(self._projects.glob("*/")):
            for source in sorted(project.rglob("*.jsonl")):
                self._copy(source, self._folder / source.relative_to(project), final)

    def _copy(self, source: Path, copy: Path, final: bool) -> None:
        start = self._read.get(source)
        if start is None:
            start = copy.stat().st_size if copy.exists() else 0
        # The CLI can take lines back; what follows them is still new.
        start = min(start, source.stat().st_size)
        with source.open("rb") as stream:
            stream.seek(start)
            added = stream.read()
        if not final:
            added = added[: added.rfind(b"\n") + 1]
        if added:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("ab") as stream:
                stream.write(added)
        self._read[source] = start + len(added)
