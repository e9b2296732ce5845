"""Figures of reports, drawn with plotly when they are asked for; each kind stands in a file of its own."""
