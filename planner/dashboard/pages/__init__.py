"""The pages of the dashboard, a file for each; every one has `show`, which draws it."""
