"""The train command of a draft: launcher, data, arguments, seed, and the way to the checkpoint."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from posixpath import dirname, relpath

from agentmig.drafting.checkpoints import switches
from agentmig.drafting.findings import Finding, Question, confirm, found, missing
from agentmig.drafting.lengths import Length
from agentmig.drafting.outputs import Output, output
from agentmig.drafting.seeds import Seeds
from agentmig.drafting.starting import Start, start
from agentmig.drafting.supplying import Supplies, ordered, supply
from agentmig.drafting.survey import Program, Survey
from agentmig.spec.unfilled import MARK


@dataclass(frozen=True)
class Training:
    """How the draft trains.

    Attributes:
        command: the train command.
        supplies: data and arguments, which evaluation shares.
        env: variables of the command.
        why: comments for it.
    """

    command: str
    start: Start
    supplies: Supplies
    output: Output
    env: dict[str, str]
    why: tuple[str, ...]
    findings: tuple[Finding, ...]
    questions: tuple[Question, ...]


def training(survey: Survey, program: Program) -> Training:
    """The train command and all that explains it."""
    begin = start(survey, program)
    saved = output(survey, program)
    seeds = survey.seeds
    given = [*saved.arguments, *([seeds.option.flag] if seeds.option else [])]
    supplies = supply(survey, program, "train.command", given, begin.folder)
    arguments = {**supplies.arguments, **saved.arguments}
    why = [*begin.why, *supplies.why]
    questions = [*begin.questions, *supplies.questions]
    findings = [*begin.findings, *supplies.findings, *saved.findings]

    words = begin.words
    words, seed_arguments, seed_why, seed_questions = _seed(seeds, words, program, begin)
    arguments |= seed_arguments
    why += seed_why
    questions += seed_questions
    findings += [
        found("seed", f"{line.call} {line.constant or ''}".strip(), line.place) for line in seeds.lines[:5]
    ]
    if not seeds.lines and not seeds.option:
        findings.append(found("seed", "none: no line seeds a generator, and no option is called so"))
    if seeds.option:
        findings.append(
            found("seed", f"option {seeds.option.flag}, default {seeds.option.default}", seeds.option.place)
        )

    for flag, text, reason in _optimizer_switch(program):
        arguments[flag] = text
        why.append(reason)
    for length in survey.lengths[:2]:
        by = f"option {length.option.flag}" if length.option else "written in the code"
        findings.append(found("length", f"{_number(length.value)} {length.unit}, {by}", length.place))
    arguments |= _limit(survey.lengths, arguments)
    why += _lengths(survey.lengths, arguments)
    questions += _length_questions(survey.lengths, arguments)
    documented = survey.launches_of(program)
    why += [
        f"documented at {launch.place}: {launch.launcher} … {' '.join(launch.arguments)}"[:160]
        for launch in documented[:2]
        if launch.arguments
    ]
    command = " ".join([*supplies.before, words, *ordered(program, arguments)]) + saved.after
    env = {**begin.env, **supplies.env}
    questions += saved.questions
    return Training(command, begin, supplies, saved, env, tuple(why), tuple(findings), tuple(questions))


def _seed(
    seeds: Seeds, words: str, program: Program, begin: Start
) -> tuple[str, dict[str, str], list[str], list[Question]]:
    """The start of the command, arguments, comments and questions about the seed."""
    if seeds.option is not None:
        option = seeds.option
        why = [f"{option.flag}: the seed ({option.place})"]
        questions = []
        if not seeds.lines and option.style == "flag" and not _trainer_seeds(program):
            text = f"{option.flag} is accepted, but no line was found that seeds a generator with it: does the seed reach torch?"
            questions = [confirm("train.command", text, option.place)]
        return words, {option.flag: option.given("{seed}")}, why, questions
    if seeds.variable is not None:
        name, place = seeds.variable
        return f"{name}={{seed}} {words}", {}, [f"{name}: the seed comes from the environment ({place})"], []
    fixed = [line for line in seeds.lines if line.constant is not None]
    spawns = any(
        call.endswith("multiprocessing.spawn")
        for module in program.reach.modules
        for call in map(module.called, module.calls)
    )
    plain = begin.launcher == "python" and not spawns and re.fullmatch(r"[\w./-]+", program.path)
    if not seeds.lines and plain:
        return (
            _wrapped(program, begin.folder),
            {},
            [f"{program.path} sets no seed, so the command sets it before the program starts"],
            [],
        )
    place = program.main.place(program.main.tree)
    text = f"{program.path} has no option for a seed"
    if fixed:
        place = fixed[0].place
        text = f"{place} writes the seed in the code ({fixed[0].call}({fixed[0].constant}))"
    elif seeds.lines:
        place = seeds.lines[0].place
        text = f"{place} seeds a generator, but no option of the command line was found that sets the seed"
    text += ": verification runs with fresh seeds. Add an option (such as --seed) that seeds every generator, commit that, and name it here."
    question = missing("train.command", text, place)
    style = next((o.style for o in program.options if o.style in ("override", "assignment")), "flag")
    word = {"override": f"{MARK}-seed={{seed}}", "assignment": f"--{MARK}-seed={{seed}}"}.get(
        style, f"--{MARK}-seed {{seed}}"
    )
    return words, {MARK: word}, [f"TO FILL IN: {text}"], [question]


def _trainer_seeds(program: Program) -> bool:
    """Trainers that seed by themselves."""
    return any(
        name in program.reach.packages for name in ("transformers", "lightning", "pytorch_lightning", "trl")
    )


def _wrapped(program: Program, folder: str) -> str:
    """Python that seeds the generators and then runs the program, for a program that sets no seed."""
    path = relpath(program.path, folder or ".")
    imports = ["random", "runpy", "sys", "torch"]
    seeding = ["random.seed({seed})", "torch.manual_seed({seed})"]
    if "numpy" in program.reach.packages:
        imports.append("numpy")
        seeding.append("numpy.random.seed({seed})")
    beside = [f"sys.path.insert(0, {dirname(path)!r})"] if dirname(path) else []
    code = "; ".join(
        [
            f"import {', '.join(sorted(imports))}",
            *beside,
            *seeding,
            f"runpy.run_path({path!r}, run_name='__main__')",
        ]
    )
    return f'python -c "{code}"'


def _optimizer_switch(program: Program) -> Iterator[tuple[str, str, str]]:
    """An option without which no torch optimizer is made: verification watches the optimizer's steps."""
    made = [
        (module, call)
        for module in program.reach.modules
        for call in module.calls
        if re.match(r"torch\.optim\.[A-Z]\w+$", module.called(call))
    ]
    if not made:
        return
    needed = [switches(module.guards(call), program.symbols) for module, call in made]
    if all(needed) and len({option for option, value in needed[0] if value is None}) == 1:
        option = needed[0][0][0]
        if all((option, None) in each for each in needed):
            yield (
                option.flag,
                option.given("True"),
                f"{option.flag}: only with it a torch optimizer makes the steps ({option.place}), which verification watches",
            )


def _limit(lengths: list[Length], arguments: dict[str, str]) -> dict[str, str]:
    """The option that ends a training which would go on for ever, for a person to fill in."""
    option = lengths[0].option if lengths and lengths[0].is_endless else None
    return {option.flag: option.given(MARK)} if option and option.flag not in arguments else {}


def _lengths(lengths: list[Length], arguments: dict[str, str]) -> Iterator[str]:
    for length in lengths[:1]:
        if length.option is None:
            yield f"trains {_number(length.value)} {length.unit} ({length.place}); no option changes that"
        elif length.is_endless:
            yield f"TO FILL IN: {length.option.flag} is {_number(length.value)} by default, which has no end ({length.place})"
        elif length.option.flag not in arguments:
            how = (
                f"trains {_number(length.value)} {length.unit} by default"
                if length.value is not None
                else "how long it trains"
            )
            yield f"{how}; {length.option.given('N')} makes it shorter ({length.place})"


def _length_questions(lengths: list[Length], arguments: dict[str, str]) -> Iterator[Question]:
    if not lengths:
        text = "How long does a run train? No number of epochs or steps was found, and a run has to end by itself."
        yield confirm("train.command", text)
    for length in lengths[:1]:
        option = length.option
        if length.is_endless and option is not None:
            text = f"How many {length.unit} shall a run train? {option.flag} is {_number(length.value)} by default, which has no end."
            yield missing("train.command", text, length.place)
            continue
        given = re.search(r"[ =](\d+)$", arguments.get(option.flag, "")) if option else None
        actual = replace(length, value=float(given.group(1))) if given else length
        if actual.is_long:
            how = f"the number stands in the code at {length.place}"
            if option:
                how = f"put {option.given('N')} into train.command"
            text = (
                f"Is {_number(actual.value)} {length.unit} what a run should train? A verification trains at least 8 times "
                f"(5 seeds of the reference, 3 of the candidate); for less: {how}, and set train.timeout_s."
            )
            yield confirm("train.command", text, length.place)


def _number(value: float | None) -> str:
    return "an unknown number of" if value is None else f"{value:g}" if value < 1e6 else f"{value:,.0f}"
