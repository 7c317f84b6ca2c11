"""Real models for the tests, benchmarks and notebooks; see fetch.py."""
