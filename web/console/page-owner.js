// One owner: the leases of this owner and of all owners below it.

import { h } from './dom.js';
import { LeaseTable, parametersOf, placeIn } from './lease-table.js';
import { page } from './parts.js';
import { ownerHref, replaceParameters } from './routes.js';
import { t } from './words.js';

export function ownerPage({ actions, names: [owner], parameters, report }) {
  const parts = owner.split('/');
  const path = parts.map((part, i) => [
    i > 0 ? h('span', { class: 'key-slash' }, '/') : null,
    i < parts.length - 1
      ? h('a', { href: ownerHref(parts.slice(0, i + 1).join('/')) }, part)
      : h('span', {}, part),
  ]);
  const table = new LeaseTable(actions, {
    emptyText: t('ownerEmpty'),
    onPage: (place) => replaceParameters(parametersOf(place)),
    onRead: () => report(null),
    onError: report,
  });
  return {
    title: owner,
    filter: { owner, scope: 'below' },
    element: page(
      {
        fromLocks: true,
        heading: h('h1', { class: 'key-title', tabindex: '-1' }, path),
        under: h('p', { class: 'hint' }, t('ownerLeases')),
        side: h('div', { class: 'page-actions' }, actions.releaseAllButton(owner)),
      },
      h('section', { class: 'card flush' }, table.element),
    ),
    start: () => table.show({ owner, scope: 'below' }, placeIn(parameters)),
    refresh: () => table.refresh(),
    stop: () => table.stop(),
  };
}
