// The rules of fxls as exception filters, between an editor and a debug adapter.

/** A message of the debug adapter protocol. */
export interface Message {
  readonly seq: number;
  readonly type: string;
  readonly command?: string;
  readonly event?: string;
  readonly arguments?: unknown;
  readonly body?: unknown;
  readonly success?: boolean;
  readonly request_seq?: number;
}

/** The rules that there are, what they are called, and when a node breaks them. */
export const RULES: readonly Rule[] = [
  {
    rule: 'nan',
    label: 'NaN in generated code',
    when: 'A value holds NaN, and no value that went into it does.',
  },
  {
    rule: 'inf',
    label: 'Inf in generated code',
    when: 'A value holds an infinite number, and no value that went into it does.',
  },
  {
    rule: 'grad-nan',
    label: 'NaN in gradients',
    when: 'A backward makes NaN of gradients that hold none.',
  },
  {
    rule: 'shape',
    label: 'Other shape than recorded',
    when: 'A value has another shape than the listing records.',
  },
  {
    rule: 'dtype-change',
    label: 'Other dtype than recorded',
    when: 'A value has another dtype than the listing records.',
  },
];

export interface Rule {
  readonly rule: string;
  readonly label: string;
  readonly when: string;
}

/**
 * Adds filters to what an adapter has, and takes them out of what it is told.
 *
 * A program learns the rules from its environment. So the editor is asked what it
 * breaks on before the program is launched: what it says in the meantime waits.
 */
export class RuleFilters {
  readonly #toEditor: (message: Message) => void;
  readonly #toAdapter: (message: Message) => void;
  /** The launch, until it is known what is broken on. */
  #launch: Message | undefined;
  /** What the editor has said since; undefined when nothing has to wait. */
  #waiting: Message[] | undefined;
  #rules: readonly string[] = [];
  /** Whether the program does not know the rules yet. */
  #isNews = false;
  /** The frame of the program that is stopped, where it can be told something. */
  #frame: number | undefined;

  constructor(toEditor: (message: Message) => void, toAdapter: (message: Message) => void) {
    this.#toEditor = toEditor;
    this.#toAdapter = toAdapter;
  }

  fromEditor(message: Message): void {
    if (message.type !== 'request') {
      this.#toAdapter(message);
    } else if (message.command === 'launch') {
      this.#launch = message;
      this.#waiting = [];
      this.#toEditor({ seq: 0, type: 'event', event: 'initialized' });
    } else if (message.command === 'setExceptionBreakpoints') {
      this.#choose(message);
    } else if (this.#waiting !== undefined && message.command !== 'disconnect') {
      this.#waiting.push(message);
      // There is nothing that comes behind this one.
      if (message.command === 'configurationDone') this.#start();
    } else {
      // No frame lives longer than a stop.
      if (RESUMES.includes(message.command ?? '')) this.#frame = undefined;
      this.#toAdapter(message);
    }
  }

  fromAdapter(message: Message): void {
    if (message.type === 'event' && message.event === 'initialized') {
      if (this.#waiting === undefined) {
        this.#toEditor(message);
        return;
      }
      const waiting = this.#waiting;
      this.#waiting = undefined;
      for (const each of waiting) this.#toAdapter(each);
    } else if (message.type === 'response' && message.request_seq === OWN) {
      // The answer to what the editor has not asked.
      return;
    } else if (message.type === 'response' && message.command === 'initialize') {
      this.#toEditor({ ...message, body: withFilters(message.body) });
    } else {
      this.#toEditor(message);
      if (message.command === 'stackTrace') this.#frame = frameOf(message.body);
      if (message.event === 'continued' || message.event === 'stopped') {
        this.#frame = undefined;
      }
      this.#tell();
    }
  }

  #choose(message: Message): void {
    const asked = message.arguments as { readonly filters?: readonly string[] };
    const all = asked.filters ?? [];
    const rules = RULES.map(({ rule }) => rule).filter((rule) => all.includes(NAME + rule));
    const filters = all.filter((name) => !name.startsWith(NAME));
    const rest = { ...message, arguments: { ...asked, filters } };
    const isOther = rules.join() !== this.#rules.join();
    this.#rules = rules;
    if (this.#waiting !== undefined) {
      this.#waiting.push(rest);
      this.#start();
      return;
    }
    this.#isNews ||= isOther;
    this.#tell();
    this.#toAdapter(rest);
  }

  /** Tells the program, when it is stopped; else when it stops. */
  #tell(): void {
    if (!this.#isNews || this.#frame === undefined) return;
    this.#isNews = false;
    const given = breaksOn(this.#rules, this.#frame);
    this.#toAdapter({ seq: OWN, type: 'request', command: 'evaluate', arguments: given });
  }

  /** Launches the program with the rules that are chosen. */
  #start(): void {
    const launch = this.#launch;
    this.#launch = undefined;
    if (launch === undefined) return;
    const given = launch.arguments as { readonly env?: Record<string, string> };
    const before = given.env?.[VARIABLE]?.split(',').filter(Boolean) ?? [];
    const rules = [...new Set([...before, ...this.#rules])].join(',');
    const env = rules === '' ? {} : { env: { ...given.env, [VARIABLE]: rules } };
    this.#toAdapter({ ...launch, arguments: { ...given, ...env } });
  }
}

/** The arguments of the request that tells a program which is stopped at a frame. */
export function breaksOn(rules: readonly string[], frameId: number) {
  const names = rules.map((rule) => JSON.stringify(rule)).join(', ');
  const expression = `__import__("fxls").break_on(${names})`;
  return { expression, frameId, context: 'repl' };
}

/** The variable of the environment that a program learns rules from. */
export const VARIABLE = 'FXLS_BREAK_ON';

const NAME = 'fxls.';
const RESUMES = ['continue', 'next', 'stepIn', 'stepOut'];
/** The number of a request that no editor makes. */
const OWN = 2 ** 30;

/** The innermost frame of a call stack. */
function frameOf(body: unknown): number | undefined {
  const stack = (body ?? {}) as {
    readonly stackFrames?: readonly { readonly id: number }[];
  };
  return stack.stackFrames?.[0]?.id;
}

function withFilters(body: unknown): unknown {
  const able = (body ?? {}) as { readonly exceptionBreakpointFilters?: readonly unknown[] };
  const ours = RULES.map(({ rule, label, when }) => ({
    ...{ filter: NAME + rule, label, description: when, default: false },
  }));
  return {
    ...able,
    exceptionBreakpointFilters: [...(able.exceptionBreakpointFilters ?? []), ...ours],
  };
}
