"""What the agent is told: Jinja templates in `prompts/`, in which every name that is used must be given."""

from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agentmig.resources import resource


def render(template: str, **values: Any) -> str:
    """Render a prompt.

    Args:
        template: file name in `prompts/`, such as `task.md.j2`.
        **values: what the template uses (listed at its top).

    Raises:
        jinja2.UndefinedError: the template uses a name that was not given.
    """
    environment = Environment(
        loader=FileSystemLoader(resource("prompts")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
    )
    return environment.get_template(template).render(**values).strip() + "\n"
