"""The routes of /v1. `bodies` and `replies` are what they take and give; then `studies`, `asking`, `saying`, `log`."""
