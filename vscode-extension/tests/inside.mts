// Runs tests/inside/ in VS Code's extension host; the exit code says how it went.

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { address, inBrowser, remote, SHOTS } from './browser.mts';

/** How the lines of the tests begin among those of VS Code. */
const MARK = '[fxls] ';
const LIMIT = 3_600_000;
const bundle = join(dirname(fileURLToPath(import.meta.url)), '../dist/tests');

const code = await inBrowser(async (page) => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const limit = setTimeout(() => {
    console.log('FAIL  the tests did not end');
    resolve(124);
  }, LIMIT);
  await page.exposeFunction('codeAutomationLog', (_kind: string, words: unknown[]) => {
    const text = words.join(' ');
    if (text.startsWith(MARK)) console.log(text.slice(MARK.length));
  });
  await page.exposeFunction('codeAutomationExit', (ended: number) => {
    resolve(ended);
  });
  await page.goto(
    address([
      ['extensionDevelopmentPath', remote(bundle)],
      ['extensionTestsPath', remote(join(bundle, 'index.cjs'))],
      ['skipWelcome', 'true'],
    ]),
  );
  const ended = await promise;
  clearTimeout(limit);
  await page.screenshot({ path: join(SHOTS, 'inside.png') });
  return ended;
});
process.exitCode = code;
