"""The command, one file a subcommand. No arithmetic."""
