"""Other spellings for ops that the builder refuses: a module of rules per reason of the refusal."""

from .rules import can_be_worked_around, worked_around

__all__ = ["can_be_worked_around", "worked_around"]
