// What the page of a run does beyond HTML: one step at a time, keys, a filter, copying, marking a value.
(() => {
  const root = document.documentElement;
  const links = [...document.querySelectorAll('.mt-list a')];
  if (!links.length) return;
  root.classList.add('mt-live');
  const sections = links.map(link => document.querySelector(link.getAttribute('href')));
  const [filter, hide] = document.querySelectorAll('.mt-tools input');
  let now = -1;

  const shown = () => links.flatMap((link, n) => link.parentElement.classList.contains('mt-gone') ? [] : [n]);

  const select = (number, focus) => {
    if (now >= 0) {
      links[now].removeAttribute('aria-current');
      sections[now].classList.remove('mt-now');
    }
    now = number;
    links[now].setAttribute('aria-current', 'step');
    sections[now].classList.add('mt-now');
    sections[now].firstElementChild.open = true;
    if (focus) links[now].focus();
    links[now].scrollIntoView({block: 'nearest'});
    history.replaceState(null, '', links[now].getAttribute('href'));
  };

  const step = by => {
    const places = shown();
    if (!places.length) return;
    const at = places.indexOf(now);
    select(places[Math.min(Math.max(at + by, 0), places.length - 1)], true);
  };

  const narrow = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    links.forEach((link, n) => {
      const text = `${link.textContent} ${sections[n].querySelector('p + p')?.textContent ?? ''}`.toLowerCase();
      const gone = hide.checked && link.dataset.status !== 'changed' || !words.every(word => text.includes(word));
      link.parentElement.classList.toggle('mt-gone', gone);
    });
  };

  const fold = () => {
    const regions = [...document.querySelectorAll('.mt-tree details details:not(.d)')];
    const open = regions.every(region => !region.open);
    regions.forEach(region => { region.open = open; });
  };

  links.forEach((link, n) => link.addEventListener('click', event => {
    event.preventDefault();
    select(n, true);
  }));
  filter.addEventListener('input', narrow);
  hide.addEventListener('change', narrow);
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input[type=search]')) return;
    const arrows = event.target.closest('.mt-list') || event.target === document.body;
    const by = {j: 1, k: -1, ArrowDown: arrows && 1, ArrowUp: arrows && -1}[event.key];
    if (by) step(by);
    else if (event.key === 'h') { hide.checked = !hide.checked; narrow(); }
    else if (event.key === 'f') fold();
    else return;
    event.preventDefault();
  });

  document.querySelectorAll('.mt-copy').forEach(button => button.addEventListener('click', async () => {
    const text = button.previousElementSibling.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = 'Selected: press Ctrl+C';
    }
  }));

  // A value is marked where it is defined and used: in its function, or in its diff, by ranges over the text.
  const NAME = /%[\w$.-]+/g;
  const clicked = event => {
    const place = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    const node = place?.offsetNode;
    if (!node || node.nodeType !== Node.TEXT_NODE) return null;
    for (const match of node.data.matchAll(NAME)) {
      if (match.index <= place.offset && place.offset <= match.index + match[0].length) return [node, match[0]];
    }
    return null;
  };
  const mark = (node, name) => {
    const scope = node.parentElement.closest('.mt-tree details details:not(.d), .mt-tree, .mt-diff');
    const uses = new Highlight(), definitions = new Highlight();
    const walker = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
    let count = 0;
    while (walker.nextNode()) {
      const text = walker.currentNode;
      for (const match of text.data.matchAll(NAME)) {
        if (match[0] !== name) continue;
        const range = new Range();
        range.setStart(text, match.index);
        range.setEnd(text, match.index + name.length);
        const rest = text.data.slice(match.index + name.length);
        (text.parentElement.id || /^(:\d+)?(, %[\w$.:-]+)* = |^: /.test(rest) ? definitions : uses).add(range);
        count += 1;
      }
    }
    CSS.highlights.set('mt-use', uses);
    CSS.highlights.set('mt-def', definitions);
    document.querySelector('.mt-tools span').textContent = `${name}: ${count} places`;
  };
  if (window.Highlight && CSS.highlights) {
    document.addEventListener('click', event => {
      const found = event.target.closest?.('.mt-tree, .mt-diff') && clicked(event);
      if (found) mark(...found);
    });
  }

  const wanted = links.findIndex(link => link.getAttribute('href') === location.hash);
  const changed = links.findIndex(link => link.dataset.status === 'changed');
  select(Math.max(wanted >= 0 ? wanted : changed, 0), false);
})();
