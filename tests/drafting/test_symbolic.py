import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.symbolic import Opt, Template, Unknown, literal, options_in
from tests.drafting.programs import program_of

ARGS = "import argparse, os, torch\nfrom pathlib import Path\nparser = argparse.ArgumentParser()\nparser.add_argument('--out')\nparser.add_argument('--name', default='n')\nargs = parser.parse_args()\n"


def _shown(template: Template) -> str:
    return "".join(
        piece if isinstance(piece, str) else f"<{piece.option.flag}>" if isinstance(piece, Opt) else "?"
        for piece in template
    )


def _saved(text: str, header: str = ARGS) -> str:
    program = program_of(header + text)
    call = next(call for call in program.main.calls if program.main.called(call) == "torch.save")
    return _shown(program.symbols.evaluate(program.main, call.args[1]))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("torch.save(m, 'a/b.pt')", "a/b.pt"),
        ("torch.save(m, args.out)", "<--out>"),
        ("torch.save(m, os.path.join(args.out, 'm.pt'))", "<--out>/m.pt"),
        ("torch.save(m, Path(args.out) / 'x' / 'm.pt')", "<--out>/x/m.pt"),
        ("torch.save(m, f'{args.out}/m-{epoch}.pt')", "<--out>/m-?.pt"),
        ("torch.save(m, '%s/m_%d.pt' % (args.out, epoch))", "<--out>/m_?.pt"),
        ("torch.save(m, '{}/{name}.pt'.format(args.out, name=args.name))", "<--out>/<--name>.pt"),
        ("p = args.out + '/m.pt'\ntorch.save(m, p)", "<--out>/m.pt"),
        ("with open(args.out, 'wb') as f:\n    torch.save(m, f)", "<--out>"),
        ("def save(m, path='c.pt'):\n    torch.save(m, path)\nsave(m)", "c.pt"),
        ("def save(m, path='c.pt'):\n    torch.save(m, path)\nsave(m, args.out)", "<--out>"),
        ("for p in [args.out + '/a.pt']:\n    torch.save(m, p)", "<--out>/a.pt"),
        (
            "class S:\n    def __init__(self, folder):\n        self.folder = folder\n    def go(self):\n        torch.save(m, self.folder + '/m.pt')\nS(args.out)",
            "<--out>/m.pt",
        ),
        ("torch.save(m, args['out'])", "<--out>"),
        ("torch.save(m, somewhere(args.out))", "?"),
        ("torch.save(m, missing)", "?"),
        ("last, best = args.out + '/l.pt', 'b.pt'\ntorch.save(m, best)", "b.pt"),
    ],
)
def test_what_a_path_is_made_of(text: str, path: str) -> None:
    assert _saved(text) == path


def test_an_unknown_part_knows_the_options_that_it_depends_on() -> None:
    program = program_of(ARGS + "folder = make(args.out)\ntorch.save(m, folder)\n")
    call = next(call for call in program.main.calls if program.main.called(call) == "torch.save")
    template = program.symbols.evaluate(program.main, call.args[1])
    assert literal(template) is None
    assert [option.flag for option in options_in(template)] == ["--out"]
    assert isinstance(template[0], Unknown)


@pytest.mark.parametrize(
    "text", ["x = x + x\n" * 40, "".join(f"a{n} = a{n + 1} + a{n + 1}\n" for n in range(60))]
)
def test_names_that_refer_to_each_other_end(text: str) -> None:
    program = program_of(text + "torch.save(1, x)\ntorch.save(1, a0)\n")
    for call in program.main.calls:
        program.symbols.evaluate(program.main, call.args[1])
        program.symbols.options_within(program.main, call)


_NAMES = st.sampled_from(
    [
        "a",
        "b",
        "args.out",
        "'t'",
        "1",
        "f(a)",
        "None",
        "[b]",
        "f'{a}'",
        "(a / b)",
        "'%s' % a",
        "'{}'.format(b)",
    ]
)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "self.c"]), _NAMES), max_size=12), _NAMES)
def test_any_expression_is_evaluated(assignments: list[tuple[str, str]], expression: str) -> None:
    text = "".join(f"{name} = {value}\n" for name, value in assignments)
    program = program_of(f"{ARGS}{text}")
    node = ast.parse(expression, mode="eval").body
    template = program.symbols.evaluate(program.main, node)
    assert all(isinstance(piece, str | Opt | Unknown) for piece in template)
