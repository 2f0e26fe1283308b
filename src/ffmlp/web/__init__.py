"""Pages of one HTML file that work without a network: plain JavaScript modules and what joins them.

Folders and modules are named after the Python packages and modules whose results they repeat. `inputs/`,
`network/`, `explain/` and `robustness/` predict and explain a stored network; `design/` makes one.
"""
