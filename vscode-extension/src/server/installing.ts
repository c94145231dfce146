// Installs what is missing into the chosen Python, where a person sees it happen.

import { spawn } from 'node:child_process';
import * as os from 'node:os';
import { pathToFileURL } from 'node:url';
import * as vscode from 'vscode';
import { onPath } from './interpreters.ts';
import { probe } from './probe.ts';
import { reasonOf } from './install_failures.ts';
import type { Server } from './server.ts';

/**
 * Registers `fxls.install`; without arguments it installs fxls itself, where something is
 * missing.
 */
export function registerInstalling(
  server: Server,
  extension: vscode.Uri,
  version: string,
): vscode.Disposable {
  return vscode.commands.registerCommand('fxls.install', (what?: string, python?: string) =>
    install(
      server,
      what ?? ownPackage(extension, version),
      python ?? server.incomplete?.path,
    ),
  );
}

/**
 * fxls as the extension brings it, so that nobody who owns a name on an index can put
 * another program in its place. What it needs comes from the index of the person's pip.
 */
function ownPackage(extension: vscode.Uri, version: string): string {
  const wheel = vscode.Uri.joinPath(extension, 'dist', `fxls-${version}-py3-none-any.whl`);
  return `fxls[debug] @ ${pathToFileURL(wheel.fsPath).href}`;
}

async function install(
  server: Server,
  what: string,
  python: string | undefined,
): Promise<void> {
  if (python === undefined) return;
  const command = await installer(python, what);
  const { code, output } = await ranInTerminal(`Install ${what.split(' ')[0]}`, command);
  if (code === 0) {
    await server.restart();
    return;
  }
  const [again, choose, copy] = ['Try Again', 'Choose a Python', 'Copy Command'];
  const chosen = await vscode.window.showErrorMessage(
    `${what.split(' ')[0]} was not installed into ${python}: ${reasonOf(output, code)}`,
    again,
    choose,
    copy,
  );
  if (chosen === again) await install(server, what, python);
  if (chosen === choose) await vscode.commands.executeCommand('fxls.choosePython');
  if (chosen === copy) await vscode.env.clipboard.writeText(command.map(quoted).join(' '));
}

/** The command that installs a package into an environment, with or without pip in it. */
async function installer(
  python: string,
  what: string,
): Promise<readonly [string, ...string[]]> {
  const answer = await probe(python);
  if (typeof answer === 'string' || answer.pip) {
    return [python, '-P', '-m', 'pip', 'install', what];
  }
  const uv = await onPath('uv');
  return uv === undefined
    ? [python, '-c', WITH_PIP, what]
    : [uv, 'pip', 'install', '--python', python, what];
}

/**
 * An environment that uv has made has no pip. What makes one forgets, in its own process,
 * all that the person has told pip.
 */
const WITH_PIP = `
import subprocess, sys
for step in (["ensurepip"], ["pip", "install", *sys.argv[1:]]):
    ended = subprocess.call([sys.executable, "-P", "-m", *step])
    if ended: sys.exit(ended)
`;

interface Ended {
  /** How the program ended; null when it was stopped or could not be started. */
  readonly code: number | null;
  /** The end of what it printed. */
  readonly output: string;
}

/** Runs a program in a terminal, which stays for a look, and has what it printed. */
function ranInTerminal(
  name: string,
  [program, ...values]: readonly [string, ...string[]],
): Promise<Ended> {
  return new Promise((resolve) => {
    const written = new vscode.EventEmitter<string>();
    let output = '';
    let stop = (): void => undefined;
    const print = (text: string): void => {
      output = (output + text).slice(-KEPT);
      // A terminal wants both characters at the end of a line.
      written.fire(text.replace(/\r?\n/g, '\r\n'));
    };
    const open = (): void => {
      print(`${[program, ...values].map(quoted).join(' ')}\n`);
      // The folder that is open is no place to import from.
      const child = spawn(program, values, { cwd: os.homedir(), windowsHide: true });
      stop = () => void child.kill();
      child.stdout.setEncoding('utf8').on('data', print);
      child.stderr.setEncoding('utf8').on('data', print);
      child.on('error', (error) => {
        print(`${error.message}\n`);
        resolve({ code: null, output });
      });
      child.on('close', (code) => {
        print(`${name}: ${code === 0 ? 'done' : 'failed'}\n`);
        resolve({ code, output });
      });
    };
    const close = (): void => {
      stop();
    };
    const pty = { onDidWrite: written.event, open, close };
    vscode.window.createTerminal({ name, pty }).show(true);
  });
}

function quoted(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Characters of the output in which the reason is looked for. */
const KEPT = 20_000;
