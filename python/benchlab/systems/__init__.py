"""Recipes that bring one server software to a known state and take it away. Knows no load."""
