"""One module a subcommand of `agentenv`, each with ``main(argv) -> exit code``; `agentenv.cli` imports them by name."""
