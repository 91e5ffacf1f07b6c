// The addresses of the pages: #/, #/lock/{type}/{id}, #/owner/{owner}, #/activity, #/server.

const part = encodeURIComponent;

export const keyHref = ({ type, id }) => `#/lock/${part(type)}/${part(id)}`;
export const ownerHref = (owner) => `#/owner/${part(owner)}`;

// Returns {page, names, parameters}, or null if there is no such page.
export function readHash(hash) {
  const [path, search = ''] = hash.replace(/^#/, '').split('?');
  let parts;
  try {
    parts = path
      .split('/')
      .filter((one, i) => i > 0 || one)
      .map(decodeURIComponent);
  } catch {
    return null;
  }
  const parameters = new URLSearchParams(search);
  const [page = '', ...names] = parts;
  if (page === '' && names.length === 0) return { page: 'locks', names, parameters };
  if (page === 'lock' && names.length === 2 && names.every(Boolean)) return { page, names, parameters };
  if (page === 'owner' && names.length === 1 && names[0]) return { page, names, parameters };
  if ((page === 'activity' || page === 'server') && names.length === 0) return { page, names, parameters };
  return null;
}

// Changes the parameters in the address without a new entry in the tab's history.
export function replaceParameters(fields) {
  const path = location.hash.split('?')[0] || '#/';
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value) parameters.set(name, value);
  const text = parameters.toString();
  history.replaceState(history.state, '', text ? `${path}?${text}` : path);
}
