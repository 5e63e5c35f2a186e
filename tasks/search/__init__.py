"""Question sets, corpora and retrieval of the search environment."""
