// The Leasehold client for web pages and Node.
export { EditGuard, GuardEvent } from './edit-guard.js';
export { Locks, NoAnswer } from './locks.js';
export { tabName } from './tab.js';
