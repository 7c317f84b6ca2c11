"""Other spellings for ops that the builder refuses: a module of rules per reason of the refusal."""

from .rules import WORKAROUNDS, can_be_worked_around, worked_around

__all__ = ["WORKAROUNDS", "can_be_worked_around", "worked_around"]
