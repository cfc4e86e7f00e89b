"""The gates, a module each: pure functions from what runs left behind to a verdict with a cause and its evidence.

`integrity` is it still the same experiment? `runs` does it run to its end? `semantics` is each step the same
computation? `numerics` is it the same on the device, in production precision? `hardware` did the work happen there?
`goal` is the result as good? `performance` is it worth it?
"""

GATES = ("integrity", "semantics", "numerics", "runs", "hardware", "performance", "goal")
"""The order in which the gates are worked at: cheapest first."""
