// No message names a command that does not exist: every `holdfast WORD` in the source, in the help and in
// the documents is compared with the commands of the program.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import type { Shell } from '../../src/cli/shell.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** In running text the name is written with a capital, so this is always meant as a command. */
const command = /\bholdfast ([a-z][a-z-]*)/g;

function filesBelow(folder: string, ending: RegExp): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => ending.test(name) && !name.endsWith('.test.ts'));
}

function commandsIn(text: string): readonly string[] {
  return [...text.matchAll(command)].map(([, word = '']) => word);
}

function existingCommands(): ReadonlySet<string> {
  const out = { write: () => {}, columns: 80, style: (_look: string, text: string) => text };
  const program = createProgram({ out } as unknown as Shell, '0', async () => {});
  return new Set(['help', ...program.commands.map((each) => each.name())]);
}

describe('a command that is named', () => {
  const existing = existingCommands();

  it('exists, wherever it is named #command-line', () => {
    const files = [
      ...filesBelow('src', /\.ts$/),
      ...filesBelow('docs', /\.md$/),
      ...filesBelow('examples', /\.(?:md|json|m?[jt]s)$/),
      ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'package.json'],
    ];
    const named = files.flatMap((file) =>
      commandsIn(readFileSync(join(root, file), 'utf8')).map((word) => ({ file, word })),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter(({ word }) => !existing.has(word))).toEqual([]);
  });

  it('is found in a message, and distinguished from the name of the project', () => {
    expect(commandsIn('fix it, then run: holdfast reload x; holdfast__y; Holdfast speaks')).toEqual(
      ['reload'],
    );
    expect(existing).toContain('doctor');
  });
});
