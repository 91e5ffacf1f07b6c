// A demonstration without an application: it saves to the storage of this browser.
import './leasehold-guard.js';

const parameters = new URLSearchParams(location.search);
const owner = parameters.get('owner') || 'Ama';
const element = document.querySelector('leasehold-guard');
const { form } = element;
const done = document.querySelector('#done');
const stored = 'leasehold.demo';
const customer = JSON.parse(localStorage.getItem(stored) ?? '{"name": "Grace Mensah", "notes": "Prefers to be called in the morning."}');

document.documentElement.lang = parameters.get('lang') ?? 'en';
document.querySelector('#who').textContent = owner;
for (const [name, value] of Object.entries(customer)) form.elements.namedItem(name).value = value;

// A real application checks the lock on its server when it saves.
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (!element.guard.isHeld) return;
  localStorage.setItem(stored, JSON.stringify(Object.fromEntries(new FormData(form))));
  await element.guard.release();
  done.textContent = 'Saved.';
});
document.querySelector('#cancel').addEventListener('click', () => element.guard.isHeld && element.guard.release());
element.addEventListener('leasehold-held', () => (done.textContent = ''));

element.setAttribute('owner', owner);
void element.start();
