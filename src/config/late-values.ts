// Values that are read when a connection is opened, not when the config is: `${file:PATH}` and
// `${cmd:PROGRAM ARGS}`. In the finished config such a form is a mark inside the text. A mark has a
// random word of this process in it, so that no file, variable or program can bring one in, and
// what comes out of a file or a command is never looked at again. host/servers/late-secrets.ts
// reads them.

import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';

/** Where a value comes from. */
export type LateSource =
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'cmd';
      readonly program: string;
      readonly args: readonly string[];
      /** The working directory, and what a program with a slash is relative to. */
      readonly folder: string;
    };

export interface LatePlaces {
  /** The folder of the config file. */
  readonly folder: string;
  readonly home: string | undefined;
}

export type LateForm =
  | { readonly kind: 'source'; readonly source: LateSource }
  | { readonly kind: 'wrong'; readonly cause: string };

/** Where these forms may be used, for messages. */
export const lateRule = 'only holdfast.json may have it, in the values of env and headers';

const form = /^(file|cmd):([\s\S]*)$/;

/** What is inside of `${…}`; undefined if it is no such form. */
export function lateForm(inside: string, places: LatePlaces): LateForm | undefined {
  const [, kind, rest = ''] = form.exec(inside) ?? [];
  if (kind === undefined) return undefined;
  // A second `${` is a nested form; taking its first brace as the end would corrupt the rest.
  if (inside.includes('${')) return wrong('has a form inside of a form: write the value itself');
  return kind === 'file' ? fileForm(rest, places) : commandForm(rest, places);
}

function fileForm(path: string, { folder, home }: LatePlaces): LateForm {
  if (path.trim() === '') return wrong(`names no file: write \${file:PATH}`);
  if (!path.startsWith('~/')) {
    return { kind: 'source', source: { kind: 'file', path: resolve(folder, path) } };
  }
  if (home === undefined) return wrong('begins with ~/, and HOME is not set: write the whole path');
  return { kind: 'source', source: { kind: 'file', path: join(home, path.slice(2)) } };
}

function commandForm(line: string, { folder }: LatePlaces): LateForm {
  const words = wordsOf(line);
  if (words === undefined) return wrong('has a quote that is never closed');
  const [program, ...args] = words;
  if (program === undefined || program === '') {
    return wrong(`names no program: write \${cmd:PROGRAM ARGS}`);
  }
  return { kind: 'source', source: { kind: 'cmd', program, args, folder } };
}

function wrong(cause: string): LateForm {
  return { kind: 'wrong', cause };
}

const word = /(?:[^\s'"]|'[^']*'|"[^"]*")+/y;

/**
 * The words of a line, split at white space. Between single or double quotes everything is literal;
 * there is no other way to quote. Undefined where a quote is never closed.
 */
export function wordsOf(line: string): readonly string[] | undefined {
  const words: string[] = [];
  for (let at = line.search(/\S/); at >= 0 && at < line.length; ) {
    word.lastIndex = at;
    const [found] = word.exec(line) ?? [];
    if (found === undefined || /['"]/.test(line[at + found.length] ?? '')) return undefined;
    words.push(found.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
    at += found.length;
    while (at < line.length && /\s/.test(line[at] ?? '')) at += 1;
  }
  return words;
}

// --- marks in the finished config ----------------------------------------------------------

const secretWord = randomBytes(16).toString('hex');
const mark = new RegExp(`<holdfast-${secretWord}:([A-Za-z0-9_-]+)>`);

export function lateMark(source: LateSource): string {
  return `<holdfast-${secretWord}:${Buffer.from(JSON.stringify(source)).toString('base64url')}>`;
}

export function isLate(text: string): boolean {
  return text.includes(secretWord);
}

/** The text in pieces: what is literal, and what is to be read. */
export function latePieces(text: string): readonly (string | LateSource)[] {
  return text.split(mark).flatMap<string | LateSource>((piece, at) => {
    if (at % 2 === 1) return [JSON.parse(Buffer.from(piece, 'base64url').toString()) as LateSource];
    return piece === '' ? [] : [piece];
  });
}

/** The same in every process: for what is stored. */
export function lasting(text: string): string {
  return isLate(text) ? text.replaceAll(secretWord, 'late') : text;
}
