"""A Messages endpoint that plays authored turns to the real Claude Code CLI.

Only the model's words come from here: the CLI, its tools, hooks and transcript are real. `script` is what a
person writes (`transcripts/<name>/session.toml`), `endpoint` answers the CLI's requests with it, `wire` is
the form that answers take on the wire, `serving` puts an app on a socket.
"""
