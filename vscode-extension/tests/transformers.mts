// A file of Hugging Face's in an empty profile, with no manual: how long until it has shapes.
// FXLS_TEST_PARTS=transformers FXLS_TEST_TRANSFORMERS=PYTHON ./test.sh, with a Python that has
// transformers, prints the times of docs/waiting.md. Nothing asserts a time.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PROJECT } from './browser.mts';
import { lens, row, shot, story } from './window.mts';

const MODELS = join('.venv', given('FXLS_TEST_PACKAGES'), 'transformers/models');

/** Of each model a line that computes. */
for (const [file, model, line] of [
  ['gpt2/modeling_gpt2.py', 'GPT2Model', 'self.wte(input_ids)'],
  ['llama/modeling_llama.py', 'LlamaModel', 'self.embed_tokens(input_ids)'],
  ['bert/modeling_bert.py', 'BertModel', '= self.embeddings('],
] as const) {
  const path = join(MODELS, file);
  const began = performance.now();
  const after = () => `after ${((performance.now() - began) / 1000).toFixed(0)} s`;
  await story(
    `transformers-${model}`,
    path,
    async (page, done) => {
      await row(page, 'Copyright').waitFor();

      done(`${model}: the text ${after()}`);
      await goTo(page, path, `class ${model}(`);
      const write = lens(page, 'Write an example call');
      await write.waitFor();
      await shot(page, `transformers-lens-${model}`);

      done(`${model}: a lens writes an example call ${after()}`);
      await write.click();
      await row(page, `# fxls: ${model}(`).waitFor();
      await shot(page, `transformers-written-${model}`);
      await page.keyboard.press('Control+s');

      done(`${model}: it is there ${after()}`);
      await lens(page, 'nodes)').waitFor();
      await shot(page, `transformers-traced-${model}`);

      done(`${model}: it is traced ${after()}`);
      await page.keyboard.press('Control+Tab');
      await page.keyboard.press('Enter');
      await page.locator('.tab.active', { hasText: 'modeling_' }).waitFor();
      await goTo(page, path, line, `class ${model}(`);
      await row(page, ': f32[').waitFor();
      await shot(page, `transformers-shapes-${model}`);
      done(`${model}: its file has shapes ${after()}`);
    },
    { viewport: { width: 1600, height: 1000 } },
  );
}

/** Goes to the first line with a text, behind another line. */
async function goTo(page: Page, path: string, text: string, behind = ''): Promise<void> {
  const lines = (await readFile(join(PROJECT, path), 'utf8')).split('\n');
  const from = lines.findIndex((line) => line.startsWith(behind));
  const line = lines.findIndex((each, n) => n >= from && each.includes(text)) + 1;
  await page.keyboard.press('Control+g');
  await page.locator('.quick-input-widget input').fill(`:${String(line)}`);
  await page.keyboard.press('Enter');
  await row(page, text).waitFor();
}

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run test.sh`);
  return value;
}
