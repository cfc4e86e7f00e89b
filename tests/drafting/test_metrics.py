import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.metrics import Metric, metrics
from tests.drafting.programs import program_of


def _metrics(text: str) -> list[Metric]:
    program = program_of(text)
    return metrics(program.reach.modules, program.path)


@pytest.mark.parametrize(
    ("text", "output", "value", "direction", "unit"),
    [
        ("print(f'accuracy: {a:.4f}')", "accuracy: 0.9312", "0.9312", "maximize", "fraction"),
        ("print('Test: loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)'.format(l, c, n, p))", "Test: loss: 0.1234, Accuracy: 97/100 (97%)", "97", "maximize", "percent"),
        ("print('| valid loss {:5.2f} | valid ppl {:8.2f}'.format(a, b))", "| valid loss  4.71 | valid ppl   111.05", "111.05", "minimize", "number"),
        ("print('test err:', 1 - right / n)", "test err: tensor(0.2500, device='cuda:0')", "0.2500", "minimize", "fraction"),
        ("print('%s final score: %d/%d = %.2f%% correct' % (s, a, b, c))", "test final score: 5/8 = 62.50% correct", "62.50", "maximize", "percent"),
        ("print(f'Accuracy on the {n} test images: {a:.1f}%')", "Accuracy on the 50 test images: 81.5%", "81.5", "maximize", "percent"),
        ("print(f'step {i}: train loss {a:.4f}, val loss {b:.4f}')", "step 3: train loss 1.0000, val loss 2.5000", "2.5000", "minimize", "number"),
        ("print('test BLEU =', b)", "test BLEU = 27.3", "27.3", "maximize", "number"),
        ("print(f'global_step={s}, episodic_return={r}')", "global_step=1, episodic_return=-12.5", "-12.5", "maximize", "number"),
        ("print(f'test loss: {l:.3e}')", "test loss: 1.250e-03", "1.250e-03", "minimize", "number"),
        ("print(f'test loss: {l}.')", "test loss: nan.", "nan", "minimize", "number"),
    ],
)  # fmt: skip
def test_the_pattern_finds_the_number_of_the_likeliest_metric(
    text: str, output: str, value: str, direction: str, unit: str
) -> None:
    best = _metrics(text)[0]
    assert re.findall(best.pattern, f"noise 7\n{output}\nmore 8") == [value]
    assert re.compile(best.pattern).groups == 1
    assert (best.direction, best.unit) == (direction, unit)


def test_held_out_metrics_come_before_training_ones() -> None:
    text = "def train():\n    for b in loader:\n        loss.backward()\n        print(f'loss: {l}')\ndef test():\n    print(f'accuracy: {a}')\n"
    assert [metric.name for metric in _metrics(text)] == ["test accuracy", "loss"]


def test_the_best_so_far_and_top_5_are_not_the_goal() -> None:
    assert (
        _metrics("print(f'test acc@1 {a}')\nprint(f'test acc@5 {b}')\nprint(f'best test acc {c}')")[0].label
        == "test acc@1"
    )


@pytest.mark.parametrize(
    "text",
    [
        "print(f'lr: {lr}')",
        "print(f'epoch time {t:.2f}s')",
        "print(f'saving accuracy plot to {path}')",
        "print(f'Warning: error for {f}')",
        "print(f'evaluating mAP... saving {path}')",
    ],
)
def test_what_is_no_metric(text: str) -> None:
    assert _metrics(text) == []


def test_what_trainers_print_in_a_form_of_their_own_is_a_guess() -> None:
    lightning = _metrics("class M:\n    def test_step(self, b):\n        self.log('test/acc', a)\n")[0]
    assert lightning.guessed
    assert re.findall(lightning.pattern, "│      test/acc       │    0.9832000136375427    │") == [
        "0.9832000136375427"
    ]
    assert re.findall(lightning.pattern, "        test/acc            0.98") == ["0.98"]
    trainer = _metrics("def compute_metrics(p):\n    return {'accuracy': a}\n")[0]
    assert re.findall(trainer.pattern, "  eval_accuracy           =     0.8676") == ["0.8676"]
    assert re.findall(trainer.pattern, "{'eval_accuracy': 0.5}") == ["0.5"]
    meter = _metrics("top1 = AverageMeter('Acc@1', ':6.2f')")[0]
    assert re.findall(meter.pattern, " * Acc@1 76.130 Acc@5 92.862") == ["76.130"]


@given(
    before=st.sampled_from(["", "epoch {e} | ", "[{e}/{e}]\t", "* ", "done ({e}%) "]),
    label=st.sampled_from(
        ["test accuracy", "Acc@1", "val/loss", "test_ppl", "mIoU", "F1-score", "top-1 error"]
    ),
    joint=st.sampled_from([": ", "=", " = ", " ", ":  ", " is "]),
    spec=st.sampled_from(["", ":.3f", ":8.2f", ":.2e", ":5.1f"]),
    value=st.floats(min_value=0.001, max_value=5000, allow_nan=False),
)
def test_a_pattern_fits_what_python_prints(
    before: str, label: str, joint: str, spec: str, value: float
) -> None:
    template = f"{before}{label}{joint}{{v{spec}}}"
    found = _metrics(f"print(f{template!r})")
    printed = template.format(e=3, v=value)
    assert found and any(
        re.findall(metric.pattern, printed) == [f"{{{spec}}}".format(value).strip()] for metric in found
    )
