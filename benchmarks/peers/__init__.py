"""The peers in our lab: other people's optimisers on the same worlds, with the same noise, in the same tables."""
