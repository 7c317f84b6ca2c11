"""What lstm, gru and rnn are made of: the arithmetic of a step, and the loop over the sequence."""

from .sequence import expand

__all__ = ["expand"]
