// Reads the values of `env` and `headers` that come from files and commands, each time a connection
// is opened: a secret that was replaced is used from the next start on. A command is a process of
// its own, contained like a server, with the safe environment and no input; what it leaves running
// is ended. Everything that comes out counts as a secret. A failure names the variable or header and
// the cause, never a value, and what a command prints to stderr is not shown.

import { isLate, type LateSource, latePieces } from '../../config/late-values.ts';
import { secretsIn } from '../../config/secrets.ts';
import { type Clock, within } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Secret } from '../../kernel/redactor.ts';
import type { ReadSecret, SecretFile } from '../../kernel/secret-file.ts';
import { shortageOf } from '../../kernel/shortage.ts';
import { Turns } from '../../kernel/turns.ts';
import type { Spawn } from '../../supervise/child.ts';
import { outputOf } from './secret-command.ts';

/** The cause of a fault: a value could not be had. The server itself was not tried. */
export class UnreadValue extends Error {}

/** For each file or command. */
export const secretLimits = { ms: 10_000, bytes: 65_536 } as const;

export interface LateParts {
  readonly server: string;
  readonly clock: Clock;
  readonly spawn: Spawn;
  readonly readSecret?: ReadSecret | undefined;
  /** Ends the start, and with it the commands. */
  readonly signal: AbortSignal;
}

type Values = Readonly<Record<string, string>>;

export interface LateValues {
  /** All values, complete. */
  readonly values: Values;
  /** What was read. */
  readonly secrets: readonly Secret[];
}

/** `kind` is what the values are. Throws a Fault, and then leaves no command running. */
export async function readLate(
  values: Values,
  kind: 'env' | 'header',
  parts: LateParts,
): Promise<LateValues> {
  const late = Object.entries(values).filter(([, text]) => isLate(text));
  if (late.length === 0) return { values, secrets: [] };
  const reading = new Reading(parts);
  const read = await reading.all(
    late.map(
      ([name, text]) =>
        () =>
          reading.value(kind, name, text),
    ),
  );
  const complete = new Map([...Object.entries(values), ...read]);
  return { values: Object.fromEntries(complete), secrets: reading.secrets };
}

/** So many at a time: a config may have hundreds. */
const atOnce = 4;

/** All that one start needs. */
class Reading {
  readonly secrets: Secret[] = [];
  readonly #parts: LateParts;
  readonly #failed = new AbortController();
  /** By source: what several values need is read once. At most as many as the entry has. */
  readonly #known = new Map<string, Promise<string>>();

  constructor(parts: LateParts) {
    this.#parts = parts;
  }

  /** The first failure ends the others, and is thrown when they have ended. */
  async all<T>(works: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
    const turns = new Turns(atOnce);
    let first: { readonly error: unknown } | undefined;
    const guarded = works.map((work) =>
      turns.run(async () => {
        if (first) return [];
        try {
          return [await work()];
        } catch (error) {
          first ??= { error };
          this.#failed.abort(error);
          return [];
        }
      }),
    );
    const done = await Promise.all(guarded);
    if (first) throw first.error;
    return done.flat();
  }

  async value(kind: 'env' | 'header', name: string, text: string): Promise<[string, string]> {
    const label = `${kind} ${name}`;
    let whole = '';
    for (const piece of latePieces(text)) {
      if (typeof piece === 'string') {
        whole += piece;
        continue;
      }
      const found = await this.#found(piece, label);
      for (const secret of secretsIn(label, found)) this.secrets.push(secret);
      whole += found;
    }
    // It may be an address that has its password from a file.
    for (const secret of secretsIn(label, whole)) this.secrets.push(secret);
    if (!allowed[kind].test(whole)) {
      throw this.#fault(`${label} would have characters that ${kind} values cannot have`);
    }
    return [name, whole];
  }

  #found(source: LateSource, label: string): Promise<string> {
    const key = JSON.stringify(source);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#read(source, label);
    this.#known.set(key, found);
    return found;
  }

  async #read(source: LateSource, label: string): Promise<string> {
    const bytes =
      source.kind === 'file'
        ? await this.#file(source.path, label)
        : await this.#output(source, label);
    const text = textOf(bytes);
    const what = source.kind === 'file' ? source.path : `the output of ${source.program}`;
    if (text === undefined) throw this.#fault(`${what}, for ${label}, is not UTF-8 text`);
    if (text === '') throw this.#fault(`${what}, for ${label}, is empty`);
    return text;
  }

  async #file(path: string, label: string): Promise<Buffer> {
    const { clock, server, readSecret } = this.#parts;
    if (readSecret === undefined) throw this.#fault(`the file ${path}, for ${label}, is not here`);
    const outcome: { read?: SecretFile } = {};
    const work = readSecret(path, secretLimits.bytes).then((read) => {
      outcome.read = read;
    });
    try {
      await within(clock, secretLimits.ms, work);
    } catch (error) {
      const shortage = shortageOf(error);
      if (shortage === undefined) throw error;
      throw new Fault('overloaded', `${path} could not be read: ${shortage}`, {
        server,
        dispatched: 'no',
      });
    }
    const { read } = outcome;
    if (read?.kind === 'content') return read.bytes;
    const cause = read?.cause ?? `could not be read within ${secretLimits.ms} ms`;
    throw this.#fault(`the file ${path}, for ${label}, ${cause}`);
  }

  async #output(source: LateSource & { readonly kind: 'cmd' }, label: string): Promise<Buffer> {
    const { server, clock, spawn, signal } = this.#parts;
    const { program, args, folder } = source;
    const spec = {
      ...{ name: server, command: program, args, cwd: folder, env: {}, inheritEnv: [] },
      ...{ memoryMb: null, processes: null },
    };
    const until = AbortSignal.any([signal, this.#failed.signal]);
    const run = { spec, spawn, clock, signal: until, ...secretLimits };
    const outcome = await outputOf(run).catch((error: unknown) => {
      const isOfCommand = error instanceof Fault && error.code === 'unavailable' && !until.aborted;
      throw isOfCommand ? this.#fault(`for ${label}: ${error.message}`) : error;
    });
    if (outcome.kind === 'output') return outcome.bytes;
    throw this.#fault(`the command ${program}, for ${label}, ${outcome.cause}`);
  }

  #fault(cause: string): Fault {
    const { server } = this.#parts;
    const detail = `${server} is not started: ${cause}`;
    const facts = { server, dispatched: 'no' } as const;
    return new Fault('unavailable', detail, facts, new UnreadValue(cause));
  }
}

/** What the operating system and HTTP take. */
const allowed = { env: /^[^\0]*$/, header: /^[\t\x20-\x7e\x80-\xff]*$/ } as const;

/** Without one line end; undefined if it is no text. */
function textOf(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.replace(/\r?\n$/, '');
  } catch {
    // The only error of a decoder.
    return undefined;
  }
}
