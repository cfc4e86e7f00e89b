"""How a claim is proved: traces that the probe left, statistics, and the gates that judge them.

`traces` reads what the ranks of a run wrote, `causes` finds in two traces what was done differently, `statistics` tests
the goal metric, and each module of `gates` is one question with a verdict, its evidence and a cause in words. All of
these are pure: they run nothing. `references` and `verifier` run things and put the answers together.
"""
