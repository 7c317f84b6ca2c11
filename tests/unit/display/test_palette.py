"""Contrast of the two palettes, computed."""

import itertools

import pytest

from mlirtrt_nb.display.palette import DARK, LIGHT, TOKEN_ROLES, contrast

BACKGROUNDS = ("page", "code", "head", "came", "went")
NOT_TEXT = {*BACKGROUNDS, "line", "bar", "track"}


def test_contrast_of_known_pairs() -> None:
    """Black on white is 21:1 and a colour on itself 1:1; grey #767676 on white is the known 4.54:1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#336699", "#336699") == 1
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_on_every_background(palette: dict[str, str]) -> None:
    """Each text colour has at least 4.5:1 on each background that it can lie on."""
    roles = [role for role in palette if role not in NOT_TEXT]
    low = {
        (role, ground): round(contrast(palette[role], palette[ground]), 2)
        for role, ground in itertools.product(roles, BACKGROUNDS)
        if contrast(palette[role], palette[ground]) < 4.5
    }
    assert not low


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_bars_stand_out(palette: dict[str, str]) -> None:
    """A bar has at least 3:1 on its track and on the page."""
    assert contrast(palette["bar"], palette["track"]) >= 3
    assert contrast(palette["bar"], palette["page"]) >= 3


def test_palettes_have_the_same_roles() -> None:
    """A role of one theme exists in the other, and every token role is one of them."""
    assert LIGHT.keys() == DARK.keys()
    assert set(TOKEN_ROLES.values()) <= LIGHT.keys()
