"""How a training run comes to leave its checkpoint in the output folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import basename, normpath, splitext

from agentmig.drafting.checkpoints import Saved, switches
from agentmig.drafting.findings import Finding, Question, confirm, found, missing
from agentmig.drafting.options import Option, quoted
from agentmig.drafting.supplying import FOLDER_OPTION
from agentmig.drafting.survey import Program, Survey
from agentmig.drafting.symbolic import Opt, Template, Unknown, literal, options_in
from agentmig.spec.unfilled import MARK

_KEY = "train.checkpoint"
_NOT_OUTPUT = re.compile(r"resume|load|restore|pretrain|data", re.IGNORECASE)


@dataclass(frozen=True)
class Output:
    """The checkpoint of a training run.

    Attributes:
        arguments: words by flag.
        after: shell commands after the program, each beginning with `&&`.
        checkpoint: the value of `train.checkpoint`.
        why: comments for it.
        saved: the line that saves it.
    """

    arguments: dict[str, str]
    after: str
    checkpoint: str
    why: tuple[str, ...]
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]
    saved: Saved | None


def output(survey: Survey, program: Program) -> Output:
    """How the training program's checkpoint lands in `{out}`."""
    if program.saves:
        best = program.saves[0]
        arguments, after, checkpoint = _placed(program, best)
        needed = switches(best.guards, program.symbols)
        for option, value in needed:
            arguments[option.flag] = (
                option.given_literal(value) if value is not None else option.given("True")
            )
        why = [f"{best.place} saves {best.what or 'it'}"]
        if MARK in checkpoint:
            why.append("TO FILL IN: the path that it saves to can't be told from the source")
        why += [f"{option.flag}: it saves only with it ({option.place})" for option, _ in needed]
        questions = _doubts(best, checkpoint)
        listed = tuple(
            found("checkpoint", f"{shown(saved.path)}: {saved.what}", saved.place)
            for saved in program.saves[:5]
        )
        return Output(arguments, after, checkpoint, tuple(why), listed, tuple(questions), best)
    return _by_framework(survey, program) or _nothing(program)


def _placed(program: Program, saved: Saved) -> tuple[dict[str, str], str, str]:
    """Arguments, what to do afterwards, and the checkpoint."""
    path = saved.path
    text = literal(path)
    if text is not None and text.strip():
        return {}, _copy(quoted(normpath(text))), f"{{out}}/{_plain(basename(normpath(text)))}"
    first = path[0] if path else Unknown()
    if isinstance(first, Opt) and not _NOT_OUTPUT.search(first.option.name):
        return _by_option(first.option, path[1:], saved.folder)
    known_start = isinstance(first, str) and bool(first.strip())
    option = _folder_option(options_in(path), () if known_start else program.options)
    suffix = _suffix(path)
    if option is not None:
        return (
            {option.flag: option.given("{out}")},
            _newest("{out}", _name_glob(path), suffix),
            f"{{out}}/final{suffix}",
        )
    if known_start:
        pattern = _glob(path)
        return {}, f' && cp "$(ls -t {pattern} | head -n 1)" {{out}}/final{suffix}', f"{{out}}/final{suffix}"
    return {}, "", f"{{out}}/{MARK}{suffix}"


def _by_option(option: Option, rest: Template, folder: bool) -> tuple[dict[str, str], str, str]:
    known = tuple(
        piece.option.default if isinstance(piece, Opt) and isinstance(piece.option.default, str) else piece
        for piece in rest
    )
    text = literal(known)
    if not rest:
        default = option.default if isinstance(option.default, str) else ""
        suffix = splitext(default)[1] if re.fullmatch(r"\.\w{1,8}", splitext(default)[1]) else ".pt"
        return {option.flag: option.given(f"{{out}}/model{suffix}")}, "", f"{{out}}/model{suffix}"
    if (text is not None and text.startswith("/")) or folder:
        return (
            {option.flag: option.given("{out}")},
            "",
            "{out}/" + _plain((text or "/model.safetensors").lstrip("/")),
        )
    if text is not None and "/" not in text:
        return {option.flag: option.given("{out}/model")}, "", "{out}/model" + _plain(text)
    suffix = _suffix(rest)
    head = rest[0]
    if (isinstance(head, str) and head.startswith("/")) or isinstance(head, Unknown):
        return (
            {option.flag: option.given("{out}")},
            _newest("{out}", _name_glob(rest), suffix),
            f"{{out}}/final{suffix}",
        )
    return (
        {option.flag: option.given("{out}/model")},
        _newest("{out}", f"*{suffix}", suffix),
        f"{{out}}/final{suffix}",
    )


def _copy(path: str) -> str:
    return f" && cp {path} {{out}}/"


def _newest(folder: str, name: str, suffix: str) -> str:
    """Copies the newest file of a name that may lie in folders below; nothing saves under the copy's name."""
    return f' && cp "$(find {folder} -name {quoted(name)} -exec ls -t {{{{}}}} + | head -n 1)" {{out}}/final{suffix}'


def _plain(text: str) -> str:
    """Text for a path in the workload file, where braces and blanks would mean something."""
    return re.sub(r"[^\w./@+=-]", "_", text)


def _suffix(path: Template) -> str:
    last = path[-1] if path else ""
    match = re.search(r"((?:\.[A-Za-z]\w{0,11}){1,2})$", last) if isinstance(last, str) else None
    return match.group(1) if match else ".pt"


def _name_glob(path: Template) -> str:
    """The file's name with `*` for what isn't known."""
    text = "".join(piece if isinstance(piece, str) else "*" for piece in path)
    name = text.rsplit("/", 1)[-1]
    name = re.sub(r"\*+", "*", re.sub(r"[^\w.*@+=-]", "*", name))
    return "*" + _suffix(path) if not name or re.match(r"t(?:e?mp)", name) else name


def _glob(path: Template) -> str:
    """A shell pattern for the whole path."""
    text = "".join(piece if isinstance(piece, str) else "*" for piece in path)
    return re.sub(r"\*+", "*", re.sub(r"[^\w./*@+=-]", "*", text))


def _folder_option(depends: Sequence[Option], options: Sequence[Option]) -> Option | None:
    """The option that chooses the output folder: of those that the path depends on, else of all."""
    for group in (depends, options):
        for option in group:
            told = (
                group is depends
                and "name" not in option.name
                and re.search(r"\bsav|output|folder|director", option.help)
            )
            is_named = FOLDER_OPTION.search(option.name) or told
            if is_named and not _NOT_OUTPUT.search(option.name) and not option.switch:
                return option
    return None


def _by_framework(survey: Survey, program: Program) -> Output | None:
    """Trainers save by themselves."""
    name, place = survey.framework
    if name == "transformers Trainer":
        option = next((o for o in program.options if o.name == "output_dir"), None)
        if option:
            saved = any(".save_model(" in module.text for module in program.reach.modules)
            why = (f"transformers' Trainer ({place}) saves into {option.flag}",)
            text = f"{program.path} doesn't call trainer.save_model(), so its weights lie in checkpoint folders: which file is the final model?"
            doubts = () if saved else (confirm(_KEY, text, place),)
            return Output(
                {option.flag: option.given("{out}")}, "", "{out}/model.safetensors", why, (), doubts, None
            )
    if name == "Lightning":
        option = _folder_option((), program.options)
        arguments = {option.flag: option.given("{out}")} if option else {}
        if any(o.style == "override" for o in program.options):
            arguments = {"hydra.run.dir": "hydra.run.dir={out}"}
        folder = "{out}" if arguments else "."
        why = (f"Lightning ({place}) saves *.ckpt by itself; the newest one counts",)
        which = confirm(
            _KEY,
            f"Which of Lightning's checkpoints is the one to judge? The draft takes the newest *.ckpt below {folder}.",
            place,
        )
        return Output(
            arguments,
            _newest(folder, "*.ckpt", ".ckpt"),
            "{out}/final.ckpt",
            why,
            (found("checkpoint", "*.ckpt", place),),
            (which,),
            None,
        )
    return None


def _nothing(program: Program) -> Output:
    place = program.main.place(program.main.tree)
    text = (
        f"{program.path} saves no model that could be found. It must leave one file with its final weights: add "
        "torch.save(model.state_dict(), PATH) at the end of training, with an option for PATH, commit that, and name both here."
    )
    option = _folder_option((), program.options)
    arguments = {option.flag: option.given("{out}")} if option else {}
    return Output(
        arguments,
        "",
        f"{{out}}/{MARK}.pt",
        (f"TO FILL IN: {program.path} saves no model",),
        (),
        (missing(_KEY, text, place),),
        None,
    )


def _doubts(saved: Saved, checkpoint: str) -> list[Question]:
    if MARK in checkpoint:
        text = f"To which file does {saved.place} save {saved.what}? The path can't be told from the source. The file must land in {{out}}: give an option, or copy it there at the end of train.command."
        return [missing(_KEY, text, saved.place)]
    unknown = [piece for piece in saved.path if isinstance(piece, Unknown)]
    if unknown:
        return [
            confirm(
                _KEY,
                f"{saved.place} saves under a name that changes ({shown(saved.path)}); the draft takes the newest such file. Is that the final model?",
                saved.place,
            )
        ]
    return []


def shown(path: Template) -> str:
    """A path for people: options in angle brackets, what isn't known as `…`."""
    parts = [
        piece if isinstance(piece, str) else f"<{piece.option.flag}>" if isinstance(piece, Opt) else "…"
        for piece in path
    ]
    return "".join(parts) or "…"
