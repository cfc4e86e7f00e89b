"""The command line: one short module for each command; parsing and printing only."""
