// The other side of a page: the extension that made it.

import type { FromPage, ToPage } from './messages.ts';

interface Host {
  postMessage(message: FromPage): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Host;

const host = acquireVsCodeApi();

export function tell(message: FromPage): void {
  host.postMessage(message);
}

/** Calls with each message of the extension, and says that the page listens. */
export function listen(hear: (message: ToPage) => void): void {
  window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
    hear(data);
  });
  tell({ kind: 'ready', width: window.innerWidth });
}

/** The element of the page with an id. */
export function element<T extends Element>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`);
  return found;
}

/** Lets keys go to an element from the start, and again when the page is come back to. */
export function takeKeys(main: HTMLElement): void {
  const take = () => {
    // Of a page that has no keys, an element that is given them takes them from VS Code.
    if (document.hasFocus() && document.activeElement === document.body) main.focus();
  };
  window.addEventListener('focus', take);
  take();
}
