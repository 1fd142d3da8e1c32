// Reads what strace has written about the files of a database: which bytes were written where, what was
// forced to the disk, what was made and removed, and when the writer told that a step was done. A call of
// one thread during which another thread calls is written in two parts.

import { basename, dirname } from 'node:path';

export type Call =
  | { readonly does: 'make' | 'empty' | 'unlink'; readonly name: string }
  | { readonly does: 'rename'; readonly name: string; readonly to: string }
  | { readonly does: 'write'; readonly name: string; readonly at: number; readonly bytes: Buffer }
  | { readonly does: 'truncate'; readonly name: string; readonly length: number }
  | { readonly does: 'sync'; readonly name: string; readonly hasFailed: boolean }
  /** Of the folder. */
  | { readonly does: 'sync folder'; readonly hasFailed: boolean }
  /** A line of the writer. */
  | { readonly does: 'tell'; readonly line: string };

/** In the order of their effect, those in the folder only; `told` is the file of the writer's lines. */
export function callsIn(log: string, folder: string, told: string): readonly Call[] {
  return threadsIn(log).flatMap(({ text }) => callIn(text, folder, told) ?? []);
}

/** How often each system call was made on the files of the folder by the thread that made most of them. */
export function countsIn(log: string, folder: string, told: string): ReadonlyMap<string, number> {
  const byThread = new Map<string, number>();
  const most = new Map<string, number>();
  for (const { thread, text } of threadsIn(log)) {
    const [, name = ''] = /^(\w+)\(/.exec(text) ?? [];
    const path = pathIn(text);
    if (path === undefined || path === told) continue;
    if (path !== folder && dirname(path) !== folder) continue;
    const count = (byThread.get(`${thread} ${name}`) ?? 0) + 1;
    byThread.set(`${thread} ${name}`, count);
    most.set(name, Math.max(count, most.get(name) ?? 0));
  }
  return most;
}

interface Line {
  readonly thread: string;
  readonly text: string;
}

/** Whole calls. One that was not finished when the program was killed had no effect. */
function threadsIn(log: string): readonly Line[] {
  const begun = new Map<string, string>();
  const lines: Line[] = [];
  for (const line of log.split('\n')) {
    const [, thread = '', text = ''] = /^(\d+) +(.*)$/s.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/s.exec(text);
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/s.exec(text);
    if (unfinished?.[1] !== undefined) begun.set(thread, unfinished[1]);
    else if (resumed?.[1] !== undefined) {
      lines.push({ thread, text: `${begun.get(thread) ?? ''}${resumed[1]}` });
    } else if (/^\w+\(/.test(text)) lines.push({ thread, text });
  }
  return lines;
}

/** The file or folder that it is about. */
function pathIn(line: string): string | undefined {
  const [, ofHandle] = /^\w+\(\d+<([^>]*)>/.exec(line) ?? [];
  if (ofHandle !== undefined) return decoded(ofHandle).toString();
  return texts(line)[0]?.toString();
}

function callIn(line: string, folder: string, told: string): Call | undefined {
  const path = pathIn(line);
  const [, call = '', result = ''] = /^(\w+)\(.* = (-?\d+)[^=]*$/s.exec(line) ?? [];
  if (path === undefined || call === '') return undefined;
  const name = basename(path);
  const hasFailed = result.startsWith('-');
  if (path === told) {
    return call === 'write' ? { does: 'tell', line: String(texts(line)[0]).trim() } : undefined;
  }
  if (path === folder) return call === 'fsync' ? { does: 'sync folder', hasFailed } : undefined;
  if (dirname(path) !== folder) return undefined;
  if (call === 'fsync' || call === 'fdatasync') return { does: 'sync', name, hasFailed };
  return hasFailed ? undefined : changeIn(call, name, line);
}

function changeIn(call: string, name: string, line: string): Call | undefined {
  const [first, second] = texts(line);
  const [, offset = '0'] = /, (\d+)\) +=/.exec(line) ?? [];
  switch (call) {
    case 'openat':
      if (line.includes('O_TRUNC')) return { does: 'empty', name };
      return line.includes('O_CREAT') ? { does: 'make', name } : undefined;
    case 'pwrite64':
      return { does: 'write', name, at: Number(offset), bytes: first ?? Buffer.alloc(0) };
    case 'ftruncate':
      return { does: 'truncate', name, length: Number(offset) };
    case 'unlink':
    case 'unlinkat':
      return { does: 'unlink', name };
    case 'rename':
    case 'renameat':
    case 'renameat2':
      return { does: 'rename', name, to: basename(String(second)) };
    default:
      throw new Error(`${call} of ${name} is not understood`);
  }
}

/** The texts among the arguments. */
function texts(line: string): readonly Buffer[] {
  return [...line.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, text = '']) => decoded(text));
}

/** Texts are written byte by byte, `\x2f`, except where nothing needs it. */
function decoded(text: string): Buffer {
  if (!text.startsWith('\\x')) return Buffer.from(text);
  return Buffer.from(text.replaceAll('\\x', ''), 'hex');
}
