"""The dashboard from a checkout: `streamlit run app.py`."""

from planner.dashboard.main import main

main()
