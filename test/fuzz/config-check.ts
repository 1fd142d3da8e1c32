// One config file, read as ours and as another client's. It is either taken, and then it is frozen, has
// no prototypes and legal names; or it is refused by a fault that names the file and the place and says
// it in lines a terminal can show. What a variable holds is in no message, no prototype is touched,
// nothing takes long, and a file that is plain JSON means what JSON.parse says.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parseDocument } from '../../src/config/document.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { LoadedConfig } from '../../src/config/loaded.ts';
import { isServerName } from '../../src/config/server-name.ts';
import { Fault } from '../../src/kernel/fault.ts';
import { agree, shortly } from './disagreement.ts';
import type { Tally } from './tally.ts';

/** Where files are memory, if there is such a place: thousands are written. */
const memory = '/dev/shm';
const secrets = ['S3CR3T-aaaa', 'S3CR3T-bbbb', 'S3CR3T-cccc', 'S3CR3T-dddd'];
const env = {
  HOME: '/home/nobody',
  SECRET_A: secrets[0],
  SECRET_B: secrets[1],
  SECRET_LINES: `${secrets[2]}\n"}, {`,
  EMPTY: '',
};

/** In a processor's time, so that a busy machine proves nothing. */
const mostMs = 3_000;
/** A person reads the first few lines of many. */
const mostLines = 64;
const longestLine = 4_096;

export class ConfigFolder implements Disposable {
  readonly path = mkdtempSync(
    join(existsSync(memory) ? memory : tmpdir(), 'holdfast-fuzz-config-'),
  );

  constructor() {
    writeFileSync(
      join(this.path, '.env'),
      `FROM_FILE=${secrets[3]}\n__proto__=x\nBAD LINE\n=\nA='`,
    );
  }

  readonly check = (input: Buffer, tally: Tally): void => {
    for (const name of ['holdfast.json', 'mcp.json']) this.#checkAs(name, input, tally);
  };

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #checkAs(name: string, input: Buffer, tally: Tally): void {
    const file = join(this.path, name);
    writeFileSync(file, input);
    const namesBefore = Object.getOwnPropertyNames(Object.prototype).length;
    const before = process.cpuUsage();
    const outcome = outcomeOf(() => loadConfig({ file, cwd: this.path, env }));
    const { user, system } = process.cpuUsage(before);
    agree((user + system) / 1_000 < mostMs, () => `${name} took ${(user + system) / 1_000} ms`);
    const names = Object.getOwnPropertyNames(Object.prototype).length;
    agree(names === namesBefore, () => 'the prototype of all objects has been changed');
    if (outcome instanceof Fault) checkFault(outcome, file);
    else checkLoaded(outcome);
    tally.count(`${name} ${outcome instanceof Fault ? 'refused' : 'taken'}`);
    if (!(outcome instanceof Fault)) tally.count('servers disabled', outcome.disabled.size);
    checkMeaning(input, file);
  }
}

function outcomeOf<T>(run: () => T): T | Fault {
  try {
    return run();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function checkFault(fault: Fault, file: string): void {
  agree(fault.code === 'invalid_request', () => `the fault is ${fault.code}`);
  const lines = fault.record.detail.split('\n');
  agree(lines.length <= mostLines, () => `the fault has ${lines.length} lines`);
  for (const line of lines) {
    checkLine(line);
    // A line that only counts the rest has no place of its own.
    const isCount = /^and \d+ more/.test(line);
    agree(
      line.startsWith(file) || isCount,
      () => `a line does not name the file: ${shortly(line)}`,
    );
    const says = line.slice(file.length).replace(/^:\d+:\d+/, '');
    agree(isCount || says.length > 10, () => `a line says nothing: ${shortly(line)}`);
  }
}

/** What a terminal can show, in one line, without what a variable holds. */
function checkLine(line: string): void {
  agree(
    !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line),
    () => `a message is not one plain line: ${shortly(JSON.stringify(line))}`,
  );
  agree(
    line.length <= longestLine,
    () => `a message has ${line.length} characters: ${shortly(line)}`,
  );
  const secret = secrets.find((one) => line.includes(one));
  agree(secret === undefined, () => `a message shows what a variable holds: ${shortly(line)}`);
  agree(!/^\s+at |node:internal/.test(line), () => `a message is a stack trace: ${shortly(line)}`);
}

function checkLoaded({ config, disabled, notices, switchedOff }: LoadedConfig): void {
  checkFrozen(config, 'config');
  for (const name of Object.keys(config.mcpServers)) {
    agree(isServerName(name), () => `a server is called ${shortly(name)}`);
    agree(!disabled.has(name), () => `${name} is both there and disabled`);
  }
  for (const name of switchedOff)
    agree(disabled.has(name), () => `${name} is off and not disabled`);
  for (const line of [...notices, ...disabled.values()]) checkLine(line);
  for (const name of disabled.keys()) checkLine(JSON.stringify(name).replaceAll('\u2028', ''));
}

function checkFrozen(value: unknown, what: string): void {
  if (typeof value !== 'object' || value === null) return;
  agree(Object.isFrozen(value), () => `${what} can be changed`);
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === null;
  agree(isPlain, () => `${what} has a prototype`);
  for (const [key, member] of Object.entries(value)) checkFrozen(member, `${what}.${key}`);
}

/** A text that JSON.parse takes is taken here, with the same meaning, unless a rule is against it. */
function checkMeaning(input: Buffer, file: string): void {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(input));
  } catch {
    return;
  }
  const text = new TextDecoder().decode(input);
  const document = outcomeOf(() => parseDocument(text, file));
  if (document instanceof Fault) {
    // Only a text so deep that the parser's stack ends may be refused as a whole.
    agree(
      text.length > 1_000 && /[[{]{500}|(?:[[{]"?a?"?:?){500}/.test(text),
      () => `JSON is refused: ${shortly(document.message)}`,
    );
    return;
  }
  if (document.problems.length > 0) return;
  const same = isDeepStrictEqual(plain(document.value), plain(value));
  agree(same, () => `JSON is read as ${shortly(document.value)}`);
}

/** Without the difference between objects with a prototype and without. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}
