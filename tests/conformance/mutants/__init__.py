"""Damaged models: each is a real model with one seeded change that its structure knows of."""
