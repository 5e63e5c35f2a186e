"""Catalogues, goals and rewards of the web shop environment."""
