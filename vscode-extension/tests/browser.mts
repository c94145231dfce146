// The browser that shows VS Code, with a profile of its own.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';

/** Where VS Code is served, and the folder that is opened in it. */
export const SERVER = given('FXLS_TEST_SERVER');
export const PROJECT = given('FXLS_TEST_PROJECT');
export const SHOTS = given('FXLS_TEST_SHOTS');

/** Milliseconds after which what a test waits for does not come, on a busy machine either. */
export const LIMIT = 300_000;

/** How large the window is, and how many points of a picture one of its has. */
export interface Size {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly deviceScaleFactor?: number;
}

/** What VS Code calls a file of the machine that serves it. */
export function remote(path: string): string {
  return `vscode-remote://${new URL(SERVER).host}${path}`;
}

/** The address of a window with a folder, and with more that VS Code is told. */
export function address(more: readonly (readonly [string, string])[]): string {
  const query = new URLSearchParams({ folder: PROJECT, payload: JSON.stringify(more) });
  return `${SERVER}/?${query.toString()}`;
}

/** Calls with a page of a browser that ends with the call. */
export async function inBrowser<T>(
  act: (page: Page) => Promise<T>,
  size: Size = { viewport: { width: 1400, height: 860 } },
): Promise<T> {
  const profile = await mkdtemp(join(tmpdir(), 'fxls-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env['FXLS_TEST_CHROMIUM'] ?? '/usr/bin/chromium',
    headless: true,
    timeout: LIMIT,
    ...size,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      // The shared memory of a container is small.
      '--disable-dev-shm-usage',
    ],
  });
  context.setDefaultTimeout(LIMIT);
  try {
    return await act(context.pages()[0] ?? (await context.newPage()));
  } finally {
    await context.close();
    // What Chromium has started may write to it until it ends.
    await rm(profile, { recursive: true, force: true, maxRetries: 20 });
  }
}

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run test.sh`);
  return value;
}
