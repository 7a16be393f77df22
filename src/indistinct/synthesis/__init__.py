"""Private generative models: one release, then only post-processing."""
