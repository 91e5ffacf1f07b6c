// The worker of timer.js: sends a timer's name back after its delay. Without a delay it cancels the timer.

const handles = new Map();

onmessage = ({ data: { name, delay } }) => {
  clearTimeout(handles.get(name));
  handles.delete(name);
  if (delay !== undefined) {
    handles.set(name, setTimeout(() => postMessage(name), delay));
  }
};
