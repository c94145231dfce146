// Which programs are offered to be debugged with the rules of fxls.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsTorch } from '../../src/debugging/imports_torch.ts';

void test('a program that imports torch, or a part of it, is recognised', () => {
  for (const line of [
    'import torch',
    'import torch.nn as nn',
    'import os, torch',
    'import numpy as np, torch',
    'from torch import nn',
    'from torch.utils.data import DataLoader',
    'def main():\n    import torch\n',
    'import os\r\nimport torch\r\n',
  ]) {
    assert.equal(importsTorch(line), true, line);
  }
});

void test('what only mentions torch, or is named alike, is not', () => {
  for (const line of [
    '',
    '# import torch',
    'x = "import torch"',
    'import torchless',
    'from torchless import torch',
    'import os as torch',
    'print(torch)',
  ]) {
    assert.equal(importsTorch(line), false, line);
  }
});
