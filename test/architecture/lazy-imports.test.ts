// What is loaded later is loaded once: Node looks for the file again at each import, and when another version of the
// program was installed meanwhile, the file is gone. Commands load what they need at their start.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../src', import.meta.url));

function sources(): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /(?<!\.test)\.ts$/.test(name) && !name.startsWith('cli/'));
}

/** At the beginning of an expression: not in a comment, and not as a type. */
const loading = /(?<!typeof )\bimport\(/g;

describe('a module that is loaded when it is needed', () => {
  it('is loaded through `loadedOnce`', () => {
    const wrong = sources().filter((name) => {
      const text = readFileSync(join(folder, name), 'utf8').replace(/^\s*(\/\/|\*|\/\*).*$/gm, '');
      const imports = text.match(loading)?.length ?? 0;
      return imports > (text.match(/= loadedOnce\(/g)?.length ?? 0);
    });
    expect(wrong).toEqual([]);
  });
});
