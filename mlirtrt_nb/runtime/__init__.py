"""Runs Plans: memory laid out, engines loaded, steps bound; on the CPU and on a GPU."""
