import pytest

from agentmig.drafting.cuda import cuda_uses
from tests.drafting.programs import module_of


def _uses(text: str) -> list[tuple[str, bool]]:
    return [(use.what, use.guarded) for use in cuda_uses([module_of("import torch\n" + text)])]


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("model.cuda()", [(".cuda()", False)]),
        ("if torch.cuda.is_available():\n    model.cuda()", [(".cuda()", True)]),
        ("def move(m):\n    return m.cuda()\nif args.gpu:\n    move(m)", [(".cuda()", True)]),
        ("device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", [('"cuda"', True)]),
        ("x = y.to('cuda:0')", [('"cuda:0"', False)]),
        ("torch.cuda.set_device(0)", [("torch.cuda.set_device", False)]),
        ("try:\n    model.cuda()\nexcept RuntimeError:\n    pass", [(".cuda()", True)]),
        ("torch.accelerator.current_accelerator()", [("torch.accelerator.current_accelerator", False)]),
        ("if device == 'cuda':\n    pass", []),
        ("parser.add_argument('--device', default='cuda')", []),
        ("torch.autocast('cuda')", []),
        ("print('cuda')", []),
        ("x = torch.cuda.FloatTensor(1)", [("torch.cuda.FloatTensor", False)]),
    ],
)
def test_where_cuda_is_needed(text: str, uses: list[tuple[str, bool]]) -> None:
    assert _uses(text) == uses
