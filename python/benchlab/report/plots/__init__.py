"""The plots, one file a kind, over one canvas and one set of scales.

Each kind takes what it draws and a `Grouping`, and returns canvases; the page shows them fluidly
in both themes, the exports at a fixed width. No plot library: see `docs/decisions/0004-plots.md`.
"""
