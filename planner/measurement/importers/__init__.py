"""Importers: what benchmark tools and engines write, as rows of the tidy schema; one file for each format."""
