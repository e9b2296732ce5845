"""The dashboard: a page for each question, which asks the front door and shows its reports."""
