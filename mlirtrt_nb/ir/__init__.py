"""What all dialects share: definitions of ops, making and reading them, text, constants, shapes, rules."""
