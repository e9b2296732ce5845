"""What `planner ui` runs: Streamlit executes this file for each session."""

from planner.dashboard.main import main

main()
