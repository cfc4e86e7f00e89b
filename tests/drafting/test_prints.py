import pytest

from agentmig.drafting.prints import printed_lines
from tests.drafting.programs import program_of


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("print(f'acc: {a:.2f}%')", ["acc: …%"]),
        ("print('acc', a, 'loss', b, sep='|')", ["acc|…|loss|…"]),
        ("print('acc: {:.3f} of {n}'.format(a, n=b))", ["acc: … of …"]),
        ("print('acc: %.3f%% (%d/%d)' % (a, b, c))", ["acc: …% (…/…)"]),
        ("print('acc: ' + str(a))", ["acc: …"]),
        ("logger.info('acc %s', a)", ["acc …"]),
        ("print('\\nacc: {}\\nloss: {}\\n'.format(a, b))", ["acc: …", "loss: …"]),
        ("def f():\n    text = f'acc {a}'\n    print(text)", ["acc …"]),
        ("def say(msg):\n    print(msg)\nsay(f'acc {a}')", ["…", "acc …"]),
        ("tqdm.write(f'acc {a}')", ["acc …"]),
        ("print('nothing here')", []),
        ("print('{'.format(a))", ["…"]),
        ("print(*rows)", ["…"]),
        ("accelerator.print(f'acc {a}')", ["acc …"]),
    ],
)
def test_printed_lines(text: str, lines: list[str]) -> None:
    assert [line.text for line in printed_lines(program_of(text).reach.modules)] == lines


def test_holes_know_their_source_and_format() -> None:
    (line,) = printed_lines(program_of("print(f'acc: {100 * a / n:.2f}')").reach.modules)
    hole = line.pieces[1]
    assert not isinstance(hole, str)
    assert (hole.source, hole.spec) == ("100 * a / n", ".2f")
    assert str(line.place) == "train.py:1"
