"""Claude Code as the migrating agent: its session, the three tools it gets from us, its guard, prompts and
usage.

`gateway` is what the CLI talks to instead of the network, `launch` starts the CLI behind the wall, `session`
holds one stretch of conversation, `responses` counts what the model said, `tools` and `guard` are what it may
do, `transcript` keeps a copy of its own record, `reaping` sees to it that nothing is left of it, `prompts`
renders what it is told.
"""
