// What the token of this tab may do. The console explains a missing right before the person tries; the
// server decides in any case.

import { get, Problem } from './api.js';

export class Access {
  name = null;
  roles = ['use', 'see', 'break'];
  owner = null;
  keys = {}; // patterns, by role; a role that is missing here is for every key
  asksForToken = false;

  // Throws Problem if the server requires another token.
  static async read(signal) {
    const access = new Access();
    try {
      const token = await get('/v1/token', { signal });
      access.name = token.name;
      access.roles = token.roles;
      access.owner = token.owner;
      access.keys = token.keys ?? {};
      access.asksForToken = token.name !== null;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
    }
    return access;
  }

  can(role) {
    return this.roles.includes(role);
  }

  // Whether the token may act for this owner and all owners below it.
  speaksFor(owner) {
    return this.owner === null || owner === this.owner || owner.startsWith(`${this.owner}/`);
  }
}
