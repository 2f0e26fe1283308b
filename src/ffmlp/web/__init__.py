"""Pages of one HTML file that work without a network: plain JavaScript modules and what joins them.

`model/` predicts and explains a stored network as `ffmlp.network` does, `design/` makes one as
`ffmlp.design` does.
"""
