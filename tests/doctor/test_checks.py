import asyncio

from agentmig.doctor.checks import Check, perform
from agentmig.doctor.results import Finding, Result, ok
from agentmig.errors import AgentmigError


async def _fine() -> Finding:
    return ok("fine")


def test_results_keep_the_order_of_the_checks_whichever_ends_first() -> None:
    first_may_end = asyncio.Event()

    async def slow() -> Finding:
        await first_may_end.wait()
        return ok("late")

    async def quick() -> list[Result]:
        first_may_end.set()
        return [ok("one").named("b", "agent"), ok("two").named("c", "agent")]

    found = asyncio.run(perform([Check("a", "agent", slow), Check("quick", "agent", quick)]))
    assert [(result.name, result.seen) for result in found] == [("a", "late"), ("b", "one"), ("c", "two")]


def test_whatever_is_raised_becomes_a_result_and_the_others_go_on() -> None:
    async def ill() -> Finding:
        raise ZeroDivisionError("by nought")

    async def said() -> Finding:
        raise AgentmigError("this: do that")

    checks = [Check("ill", "agent", ill), Check("said", "agent", said), Check("well", "agent", _fine)]
    first, second, third = asyncio.run(perform(checks))
    assert (first.state, first.seen) == ("broken", "unexpected ZeroDivisionError: by nought")
    assert "ill" in first.fix
    assert (second.state, second.seen) == ("broken", "this: do that")
    assert third.state == "ok"


def test_what_runs_is_told_until_nothing_does() -> None:
    told: list[list[str]] = []
    asyncio.run(
        perform([Check("a", "agent", _fine), Check("b", "agent", _fine)], lambda names: told.append([*names]))
    )
    assert told[0] == ["a"]
    assert ["a", "b"] in told or ["b"] in told
    assert told[-1] == []
