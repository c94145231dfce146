// The five minutes as a person sees them: VS Code in a browser, an empty profile.

import assert from 'node:assert/strict';
import {
  chosen,
  command,
  lens,
  linked,
  plain,
  row,
  shot,
  stack,
  story,
  traced,
  word,
} from './window.mts';

await story('workbench', 'resnet.py', async (page, done) => {
  await row(page, 'class BasicBlock').click();

  done('the model has lenses');
  await page.locator('.statusbar-item', { hasText: 'fxls' }).waitFor();
  await page.keyboard.press('Control+End');
  await row(page, '# fxls: ResNet18').waitFor();
  await lens(page, 'Debug generated code').waitFor();
  await traced(page);
  await shot(page, 'lenses');

  done('Show generated code opens the listing beside the model');
  await lens(page, 'Show generated code').click();
  const listing = page.locator('.editor-group-container').nth(1);
  await row(listing, 'stem_0 = getattr').waitFor();
  await page.locator('.tab.active', { hasText: 'ResNet18_' }).waitFor();
  await row(listing, 'f32[1, 3, 64, 64]').waitFor();
  await shot(page, 'beside');

  done('a hover says what a node is');
  await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').hover();
  const hover = page.locator('.monaco-hover', { hasText: 'call_function' });
  await hover.waitFor();
  await shot(page, 'hover');
  assert.match(plain(await hover.innerText()), /return F\.relu\(out \+ shortcut\)/);

  done('the cursor in the listing is shown in the model');
  await page.keyboard.press('Escape');
  await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').click();
  const model = page.locator('.editor-group-container').nth(0);
  await row(model, 'return F.relu(out + shortcut)').waitFor();
  await linked(model).first().waitFor();
  await shot(page, 'linked');

  done('the listing cannot be edited');
  await page.keyboard.type('x');
  await page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor();
  await page.keyboard.press('Escape');

  done('a breakpoint in the listing stops the program');
  await word(row(listing, '= stage1_0_norm2 + stem_3'), 'add').click();
  await page.keyboard.press('F9');
  await page.locator('.codicon-debug-breakpoint').first().waitFor();
  await command(page, 'fxls: Debug Generated Code');
  await stack(page, /forward/).waitFor();
  await page.locator('.debug-top-stack-frame-line').first().waitFor();
  await shot(page, 'stopped');
  await page.keyboard.press('F5');
  await stack(page, /forward.*15:/).waitFor();
  await linked(model).first().waitFor();
  await shot(page, 'breakpoint');

  done('the session ends');
  await page.keyboard.press('Shift+F5');
  await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });

  done('a filter among the breakpoints stops it at the first NaN');
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').fill('bad.py');
  await chosen(page, '.quick-input-list', 'bad.py').waitFor();
  await page.keyboard.press('Enter');
  await row(page, 'class Bad').click();
  await page
    .locator('.debug-breakpoints .monaco-list-row', { hasText: 'NaN in generated code' })
    .getByRole('checkbox')
    .check();
  await command(page, 'fxls: Debug Generated Code');
  await stack(page, /forward.*Bad_.*6:/).waitFor();
  await page.keyboard.press('F5');
  await stack(page, /forward.*Bad_.*7:/).waitFor();
  await shot(page, 'nan');
  await page.keyboard.press('Shift+F5');
  await page.locator('.debug-toolbar').waitFor({ state: 'hidden' });
});
