import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmig.drafting.requirements import find_requirements
from tests.drafting.programs import module_of


def _texts(texts: dict[str, str]) -> list[str]:
    return [line.text for line in find_requirements(texts, None).lines]


def test_a_requirements_file_with_what_it_includes() -> None:
    texts = {
        "requirements.txt": "# comment\ntorch==2.4.1  # pinned\n-r more.txt\n-e .\n--index-url https://x\ngit+https://y\nnumpy>=1.2,<3 ; python_version > '3'\n",
        "more.txt": "tqdm\n-r requirements.txt\n",
        "requirements-dev.txt": "pytest\n",
    }
    found = find_requirements(texts, None)
    assert [line.text for line in found.lines] == [
        "torch==2.4.1",
        "tqdm",
        "numpy>=1.2,<3 ; python_version > '3'",
    ]
    assert [str(line.place) for line in found.lines] == [
        "requirements.txt:2",
        "more.txt:1",
        "requirements.txt:7",
    ]
    assert found.unusable == ("-e .", "--index-url https://x", "git+https://y")


def test_packaging_of_each_kind() -> None:
    assert _texts({"pyproject.toml": '[project]\ndependencies = ["torch>=2", "bad name !!"]\n'}) == [
        "torch>=2"
    ]
    poetry = '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "^2.1"\nnumpy = {version = "~1.26"}\ntqdm = "*"\nx = "1.0"\n'
    assert _texts({"pyproject.toml": poetry}) == ["torch>=2.1,<3", "numpy~=1.26.0", "tqdm", "x==1.0"]
    assert _texts({"setup.cfg": "[options]\ninstall_requires =\n    torch\n    numpy>1\n"}) == [
        "torch",
        "numpy>1",
    ]
    setup = module_of("needs = ['torch']\nsetup(install_requires=needs)\n", "setup.py")
    assert [(line.text, str(line.place)) for line in find_requirements({}, setup).lines] == [
        ("torch", "setup.py:1")
    ]


def test_a_conda_file() -> None:
    text = "name: x\nchannels:\n  - pytorch\ndependencies:\n  - python=3.8\n  - pytorch=1.13\n  - cudatoolkit=11\n  - conda-forge::tqdm\n  - pip:\n    - timm==0.4\n"
    assert _texts({"environment.yml": text}) == ["torch==1.13.*", "tqdm", "timm==0.4"]


def test_nothing_is_declared() -> None:
    assert find_requirements({"README.md": "pip install torch"}, None).file is None


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml", "setup.cfg", "environment.yml"])
@given(text=st.text())
def test_any_text_is_read(name: str, text: str) -> None:
    for line in find_requirements({name: text}, None).lines:
        assert line.name and "\n" not in line.text
