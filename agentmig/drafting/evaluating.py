"""The evaluate command of a draft: a separate program, an option of the training program, or what has to be written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import dirname, normpath, relpath

from agentmig.drafting.checkpoints import Loaded, switches
from agentmig.drafting.findings import Finding, Place, Question, found, missing
from agentmig.drafting.module import Module
from agentmig.drafting.options import Option, quoted
from agentmig.drafting.starting import folder_of, needs_launcher, search_path
from agentmig.drafting.supplying import ordered, supply
from agentmig.drafting.survey import Program, Survey
from agentmig.drafting.symbolic import Opt, literal
from agentmig.drafting.training import Training
from agentmig.spec.unfilled import MARK

_CHECKPOINT = re.compile(
    r"ckpt|checkpoint|weights?(?:_path|_file)?$|^(?:trained_)?model_?(?:path|file|name_or_path)?$|resume|restore|load(?:_from|_model|_path)?$|snapshot",
    re.IGNORECASE,
)
_NOT_CHECKPOINT = re.compile(
    r"pretrain|finetune|init|save|every|interval|freq|strict|decay|dir$|num|epoch|teacher|vae|weights?_decay|class_weight",
    re.IGNORECASE,
)
_SWITCH = re.compile(
    r"^(?:evaluate|eval|evaluation|eval_only|evaluate_only|only_eval|test|test_only|only_test|validate|val_only|do_eval|do_test|run_eval)$",
    re.IGNORECASE,
)
_MODE = re.compile(r"^(?:mode|phase|task|action|command|cmd|stage|run_mode)$")
_EVALUATES = re.compile(
    r"^(?:_?eval|evaluate|evaluation|test|validate|validation|val|valid)(?:_.*)?$|_(?:eval|evaluate|test|validate)$"
)
_VALUES = ("test", "eval", "evaluate", "evaluation", "val", "valid", "validate")


@dataclass(frozen=True)
class Evaluation:
    """How the draft evaluates a checkpoint.

    Attributes:
        program: that is started; None where a person has to write one.
        separate: it is a program of its own.
        why: comments.
    """

    command: str
    program: Program | None
    separate: bool
    env: dict[str, str]
    why: tuple[str, ...]
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]


def evaluation(survey: Survey, program: Program, training: Training) -> Evaluation:
    """The evaluate command and all that explains it."""
    if survey.evaluate is not None:
        made = _separate(survey, survey.evaluate, training)
        if made is not None:
            return made
    return _same(survey, program, training) or _missing(program, training)


def _separate(survey: Survey, program: Program, training: Training) -> Evaluation | None:
    given = _checkpoint(program)
    if given is None:
        return None
    before, arguments, why, option = given
    beside = survey.train is not None and dirname(program.path) == dirname(survey.train.path)
    cd = training.start.folder if beside else folder_of(survey, program)
    supplies = supply(survey, program, "evaluate.command", list(arguments), cd, training.supplies)
    for needed, value in _mode(program):
        arguments.setdefault(needed.flag, value)
    arguments = {**supplies.arguments, **arguments}
    command = " ".join(
        [
            *supplies.before,
            *before,
            f"python {quoted(relpath(program.path, cd or '.'))}",
            *ordered(program, arguments),
        ]
    )
    place = Place(program.path, 1)
    reasons = [f"a program of its own: {program.path}", *why, *supplies.why]
    findings = [found("evaluation", program.path, place), *supplies.findings]
    if option:
        findings.append(found("evaluation", f"option {option.flag} takes the checkpoint", option.place))
    return Evaluation(
        command,
        program,
        True,
        {**search_path(program, cd), **supplies.env},
        tuple(reasons),
        tuple(findings),
        tuple(supplies.questions),
    )


def _same(survey: Survey, program: Program, training: Training) -> Evaluation | None:
    """The training program itself, with an option that makes it evaluate and end."""
    switch = next(_mode(program), None)
    given = _checkpoint(program)
    if switch is None or given is None:
        return None
    before, arguments, why, option = given
    arguments[switch[0].flag] = switch[1]
    saved = training.output.saved
    if saved is not None and not any("{checkpoint}" in word for word in [*arguments.values(), *before]):
        return None
    cd = training.start.folder
    supplies = supply(survey, program, "evaluate.command", list(arguments), cd, training.supplies)
    path = quoted(relpath(program.path, cd or "."))
    arguments = {**{k: v for k, v in supplies.arguments.items() if not _trains_only(k)}, **arguments}
    words = f"python {path}"
    if training.start.launcher in ("torchrun", "torch.distributed.launch") and needs_launcher(program.reach):
        words = f"torchrun --standalone --nproc-per-node 1 {path}"
    command = " ".join([*supplies.before, *before, words, *ordered(program, arguments)])
    reasons = [f"the training program with {switch[0].flag} ({switch[0].place})", *why]
    findings = [found("evaluation", f"{program.path} {switch[1]}", switch[0].place)]
    if option:
        findings.append(found("evaluation", f"option {option.flag} takes the checkpoint", option.place))
    return Evaluation(command, program, False, training.env, tuple(reasons), tuple(findings), ())


def _trains_only(flag: str) -> bool:
    return flag.lstrip("-") in ("do_train", "train", "is_train")


def _mode(program: Program) -> Iterator[tuple[Option, str]]:
    """Options that make a program evaluate, with the words that set them."""
    for option in program.options:
        off = option.default is False or (option.default is None and option.switch)
        if _SWITCH.search(option.name) and off:
            yield option, option.given("True")
    for option in program.options:
        value = next((choice for choice in option.choices if choice.lower() in _VALUES), None)
        if _MODE.search(option.name) and value:
            yield option, option.given_literal(value)


def _checkpoint(program: Program) -> tuple[list[str], dict[str, str], list[str], Option | None] | None:
    """How a program gets the checkpoint: commands before it, arguments, comments, and the option."""
    for loaded in sorted(program.loads, key=_likely):
        first = loaded.path[0] if loaded.path else None
        text = literal(loaded.path)
        if text and text.strip() and "://" not in text:
            path = quoted(normpath(text))
            folder = f"mkdir -p {quoted(dirname(normpath(text)))} && " if dirname(normpath(text)) else ""
            why = [f"{loaded.place} loads {text}, so the checkpoint is copied there"]
            return [f"{folder}cp {{checkpoint}} {path} &&"], _opened(program, loaded), why, None
        if isinstance(first, Opt) and not _NOT_CHECKPOINT.search(first.option.name.replace("resume", "")):
            why = [f"{first.option.flag}: the checkpoint ({first.option.place}), loaded at {loaded.place}"]
            if len(loaded.path) == 1:
                return (
                    [],
                    {**_opened(program, loaded), first.option.flag: first.option.given("{checkpoint}")},
                    why,
                    first.option,
                )
        if isinstance(first, Opt) and len(loaded.path) > 1 and literal(loaded.path[1:]) is not None:
            folder = first.option.given('"$(dirname {checkpoint})"')
            why = [
                f"{first.option.flag}: the checkpoint's folder ({first.option.place}), loaded at {loaded.place}"
            ]
            return [], {**_opened(program, loaded), first.option.flag: folder}, why, first.option
    named = [o for o in program.options if _takes_a_checkpoint(o)]
    if not named:
        return None
    option = min(named, key=lambda o: not re.search(r"ckpt|checkpoint|weights|resume", o.name))
    is_folder = option.name.endswith("name_or_path")
    value = '"$(dirname {checkpoint})"' if is_folder else "{checkpoint}"
    return [], {option.flag: option.given(value)}, [f"{option.flag}: the checkpoint ({option.place})"], option


def _takes_a_checkpoint(option: Option) -> bool:
    if not _CHECKPOINT.search(option.name) or _NOT_CHECKPOINT.search(option.name):
        return False
    return not option.switch and not option.choices and not isinstance(option.default, bool | int | float)


def _likely(loaded: Loaded) -> tuple[int, int, Place]:
    first = loaded.path[0] if loaded.path else None
    name = first.option.name if isinstance(first, Opt) else ""
    ranks = [
        re.search(r"resume|ckpt|checkpoint|weights", name),
        isinstance(first, Opt),
        isinstance(first, str),
        True,
    ]
    rank = next(index for index, fits in enumerate(ranks) if fits)
    return rank, len(loaded.path), loaded.place


def _opened(program: Program, loaded: Loaded) -> dict[str, str]:
    """Options without which the loading line doesn't run."""
    return {
        option.flag: option.given_literal(value) if value is not None else option.given("True")
        for option, value in switches(loaded.guards, program.symbols)
    }


def _missing(program: Program, training: Training) -> Evaluation:
    """What a person has to write where nothing evaluates a checkpoint."""
    parts = []
    model = _model(program)
    if model:
        parts.append(f"build the model as {model} does")
    saved = training.output.saved
    parts.append(
        f"load the checkpoint that {saved.place} saves ({saved.what})" if saved else "load the checkpoint"
    )
    functions = [named for module in program.reach.modules[:12] for named in _evaluating_functions(module)]
    function = min(functions, key=lambda named: "_" in named.name, default=None)
    parts.append(f"run it on held-out data, as {function} does" if function else "run it on held-out data")
    metric = next((m for m in program.metrics if not m.guessed), None)
    parts.append(
        f"print one line such as `{metric.name}: 0.5`"
        if metric
        else "print the metric in one line, such as `accuracy: 0.5`"
    )
    importable = program.main.has_main or not program.main.acts_on_import
    hint = (
        ""
        if importable
        else f" Importing {program.path} would train, so what it needs has to be copied or moved to a module."
    )
    only = _only_in_training(program)
    text = (
        f"{only} A goal has to be measured on a checkpoint, by the untouched code: write a small evaluate.py in the project that takes the "
        f"checkpoint's path, and commit it. It must {'; '.join(parts)}.{hint} Then name it here, and fit goal.pattern to its line."
    )
    place = function.place if function else program.main.place(program.main.tree)
    question = missing("evaluate.command", text, place)
    words = f"python {MARK}-evaluate.py --checkpoint {{checkpoint}}"
    command = " ".join([*training.supplies.before, words])
    return Evaluation(command, None, False, training.start.env, (f"TO FILL IN: {only}",), (), (question,))


def _only_in_training(program: Program) -> str:
    metric = next((metric for metric in program.metrics if metric.score > 0), None)
    if metric:
        return f"{program.path} prints {metric.name} ({metric.place}) only while it trains: no program and no option evaluates a saved checkpoint."
    return f"no program and no option evaluates a checkpoint that {program.path} saved."


@dataclass(frozen=True)
class _Named:
    """Something with a name, at a place."""

    name: str
    place: Place

    def __str__(self) -> str:
        return f"{self.name} ({self.place})"


def _evaluating_functions(module: Module) -> Iterator[_Named]:
    for name, function in module.functions.items():
        if _EVALUATES.search(name):
            yield _Named(name, module.place(function))


def _model(program: Program) -> _Named | None:
    """The line that builds the model: what is assigned to a name such as `model`."""
    for name in ("model", "net", "network", "netG", "generator"):
        for node, _ in program.main.assignments.get(name, []):
            return _Named(name, program.main.place(node))
    return None
