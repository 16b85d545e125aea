"""The report page: one self-contained HTML file from plain contents.

``contents`` says what a page is made of, ``sections`` what it shows, each section in its own file as ``charts``;
``build`` writes the page and :mod:`mshgnn.report.plots` draws the same charts with matplotlib.
"""
