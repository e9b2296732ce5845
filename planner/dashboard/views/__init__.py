"""The pages of the dashboard, a file for each; every one has `show`, which draws it.

The folder is not called `pages`, for streamlit would take files of such a folder for scripts and run them.
"""
