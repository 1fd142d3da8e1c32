// The inputs that are kept: every one that ever found something, and those that somebody thought of.
// They stand as files in corpus/, a folder for each parser, and their names say what they are about.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const parsers = ['scanner', 'lines', 'events', 'config', 'http', 'stdio'] as const;

export type Parser = (typeof parsers)[number];

export interface KeptInput {
  readonly name: string;
  readonly bytes: Buffer;
}

const corpus = fileURLToPath(new URL('./corpus/', import.meta.url));

/** In the order of their names. */
export function keptInputs(parser: Parser): readonly KeptInput[] {
  const folder = join(corpus, parser);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.input'))
    .sort()
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }));
}

/** Which parser an input is for: its file's name begins with it, or its folder has it. */
export function parserOf(file: string): Parser | undefined {
  const [first] = basename(file).split('-');
  return parsers.find((parser) => parser === first || parser === basename(dirname(file)));
}
