"""What rounding does to a program: a reference that rounds after every op, and the questions put to it."""
