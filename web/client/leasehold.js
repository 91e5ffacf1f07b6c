// Leasehold for web pages and Node: "I am working on this, nobody else may start until I am done".
export { EditGuard, GuardEvent } from './edit-guard.js';
export { Locks, NoAnswer } from './locks.js';
export { tabName } from './tab.js';
