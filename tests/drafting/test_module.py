import ast

import pytest

from agentmig.drafting.module import Module, argument, constant, keyword, unparsed
from tests.drafting.programs import module_of


def _call(text: str) -> ast.Call:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    return call


def test_names_are_resolved_through_imports() -> None:
    module = module_of(
        "import torch.nn.functional as F\nfrom torch import nn as n\nF.relu(n.Linear(1, 2)).cuda()\nself.x()\n"
    )
    assert [module.called(call) for call in module.calls] == [
        ".cuda",
        "torch.nn.functional.relu",
        "torch.nn.Linear",
        "self.x",
    ]


def test_what_is_surely_imported() -> None:
    text = "import a\ntry:\n    import b\nexcept ImportError:\n    b = None\ndef f():\n    from c import d\n"
    assert {line.module: line.certain for line in module_of(text).imports} == {
        "a": True,
        "b": False,
        "c": False,
    }


@pytest.mark.parametrize("text", ["print 'Python 2'\n", "def f(:\n", "x = '\0'\n", "(" * 5000])
def test_what_can_not_be_parsed_is_empty_and_says_why(text: str) -> None:
    module = Module("old.py", text)
    assert module.error
    assert module.calls == [] and module.imports == []


def test_guards_loops_and_functions_around_a_node() -> None:
    module = module_of(
        "def f(args):\n    for x in y:\n        if args.a:\n            pass\n        else:\n            save(x)\n"
    )
    save = next(call for call in module.calls if module.called(call) == "save")
    assert [(ast.unparse(guard.test), guard.holds) for guard in module.guards(save)] == [("args.a", False)]
    assert len(module.loops(save)) == 1
    function = module.function(save)
    assert function is not None and function.name == "f"


def test_whether_an_import_would_run_it() -> None:
    assert module_of("import argparse\nargs = argparse.ArgumentParser().parse_args()\n").acts_on_import
    assert module_of("for epoch in range(3):\n    pass\n").acts_on_import
    quiet = module_of("def main():\n    pass\n\nif __name__ == '__main__':\n    main()\n")
    assert quiet.has_main and not quiet.acts_on_import


def test_assignments_also_by_with_and_in_tuples() -> None:
    module = module_of("a, b = 1, 2\nwith open('f') as g:\n    pass\nself.c = 3\n")
    assert {name: ast.unparse(values[0][1]) for name, values in module.assignments.items()} == {
        "a": "1",
        "b": "2",
        "g": "open('f')",
        "self.c": "3",
    }


def test_arguments_and_literals() -> None:
    call = _call("f(1, *rest, 2, key=-3)")
    assert constant(argument(call, 0, "first")) == 1
    assert argument(call, 2, "third") is None
    assert constant(keyword(call, "key")) == -3
    assert constant(_call("f(['a', -1])").args[0]) == ["a", -1]
    assert constant(_call("f(x)").args[0]) is None


def test_an_expression_that_is_nested_too_deeply_has_no_source() -> None:
    node: ast.expr = ast.Constant(1)
    for _ in range(5000):
        node = ast.UnaryOp(ast.USub(), node)
    assert unparsed(node) == ""
