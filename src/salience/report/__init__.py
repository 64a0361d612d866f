"""Turns values into texts, tables, pictures and pages. Nothing here loads a model or reads data."""
