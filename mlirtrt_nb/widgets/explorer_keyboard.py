"""Keys on the explorer's list, where the front end lets an output's own handler run.

Core widgets report no key strokes, and JupyterLab takes arrows and letters for its own commands even while a
list in an output has the focus. A handler on one hidden element mends both: it marks the focused element so
that JupyterLab leaves the key alone, and types letters into the field for keys, whose widget tells the kernel.
Where handlers are stripped, that field is there for the user to type into.
"""

from __future__ import annotations

from html import escape

__all__ = ["keyboard_html"]

_HANDLER = """
const root = this.closest('.mt-explorer');
if (root && !root.mtKeys) {
  root.mtKeys = true;
  const listen = event => {
    if (!root.isConnected) { window.removeEventListener('keydown', listen, true); return; }
    const target = event.target;
    if (!(target instanceof Element) || !root.contains(target)) return;
    const typing = target.matches('input:not([type=checkbox]), textarea');
    const list = target.matches('select');
    const arrow = {ArrowDown: 'j', ArrowUp: 'k'}[event.key];
    const letter = arrow || (event.key.length === 1 && 'jkxJKurhvflgG'.includes(event.key) ? event.key : '');
    const ours = letter && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
    target.toggleAttribute('data-lm-suppress-shortcuts', Boolean(ours));
    if (!ours || (list && arrow)) return;
    const field = root.querySelector('.mt-keys input');
    if (!field) return;
    event.preventDefault();
    field.value += letter;
    field.dispatchEvent(new Event('input', {bubbles: true}));
  };
  window.addEventListener('keydown', listen, true);
}
"""


def keyboard_html() -> str:
    """An invisible element whose animation, once it is in the page, puts the handler in place."""
    code = escape(" ".join(_HANDLER.split()), quote=True)
    return f'<span aria-hidden="true" style="animation:mt-ready 1ms" onanimationstart="{code}"></span>'
