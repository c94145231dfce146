// What stands behind the lines of a listing while a program is stopped in it.

import * as vscode from 'vscode';

/**
 * Each name with a short form of its value, which the debugger of fxls has for tensors:
 * `x = f32[2, 3]`. What the debugger does not answer stays as VS Code shows it.
 */
export async function shortened(
  found: readonly vscode.InlineValue[],
  { frameId }: vscode.InlineValueContext,
): Promise<vscode.InlineValue[]> {
  const session = vscode.debug.activeDebugSession;
  if (session === undefined) return [...found];
  return Promise.all(
    found.map(async (one) => {
      if (!(one instanceof vscode.InlineValueVariableLookup)) return one;
      const expression = one.variableName;
      if (expression === undefined) return one;
      const asked = { expression, frameId, context: 'inline' };
      const answer = await session.customRequest('evaluate', asked).then(
        ({ result }: { result: string }) => result,
        () => undefined,
      );
      return answer === undefined
        ? one
        : new vscode.InlineValueText(
            one.range,
            `${expression} = ${answer.slice(0, LENGTH)}`,
          );
    }),
  );
}

/** So much of a value that is no tensor stands behind a line. */
const LENGTH = 100;
