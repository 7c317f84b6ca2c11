"""Tables and figures of what was built and what was measured."""
