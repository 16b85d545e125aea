"""What a reader sees of runs: tables for a terminal and for pages, and figures."""
