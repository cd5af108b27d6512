"""The command: one file a subcommand, no arithmetic; errors become one line and an exit code."""
