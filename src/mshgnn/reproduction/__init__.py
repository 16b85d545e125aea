"""This paper only: its goals, its published figures, the tables and trials of the pages, the demo of its joint task.

Nothing but the command line imports it.
"""
