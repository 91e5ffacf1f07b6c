// The worker of timer.js: says a name back after its delay.

const handles = new Map();

onmessage = ({ data: { name, delay } }) => {
  clearTimeout(handles.get(name));
  handles.delete(name);
  if (delay !== undefined) {
    handles.set(name, setTimeout(() => postMessage(name), delay));
  }
};
