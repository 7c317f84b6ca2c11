"""Widgets for notebooks: the explorer of passes, and the partition under a slider."""
