"""A policy and an environment for driftwise, as an example of a package that offers both."""
