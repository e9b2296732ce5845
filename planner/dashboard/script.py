"""What `planner ui` runs: streamlit executes this file for each session."""

import streamlit as st

from planner.dashboard.main import main

if __name__ == "__main__":  # run for a session; the server imports the same file to find `app` in it
    main()
else:
    from planner.dashboard.entrance import MIDDLEWARE, opening

    app = st.App(__file__, middleware=MIDDLEWARE, lifespan=opening)
