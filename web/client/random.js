// Browsers have `crypto` as a global; Node 18 has it only as a module.
const nodesCrypto = 'node:crypto';

async function randomBytes(count) {
  const source = globalThis.crypto ?? (await import(/* @vite-ignore */ nodesCrypto)).webcrypto;
  return source.getRandomValues(new Uint8Array(count));
}

/** A lock id: a random UUID. (crypto.randomUUID is missing in pages without https.) */
export async function drawLockId() {
  const bytes = await randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export async function drawName() {
  const bytes = await randomBytes(9);
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_');
}
