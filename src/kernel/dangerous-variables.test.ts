import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { dangerousVariables, isDangerous, isDangerousFamily } from './dangerous-variables.ts';

describe('variables that can make a program run other code', () => {
  it('are known by name and by family, and by nothing similar', () => {
    for (const name of ['NODE_OPTIONS', 'LD_PRELOAD', 'LD_', 'BASH_FUNC_x%%', 'IFS', 'ENV']) {
      expect([name, isDangerous(name)]).toEqual([name, true]);
    }
    for (const name of ['NODE_ENV', 'env', 'LD', 'OLD_PATH', 'PATH', 'PYTHONPATH', 'constructor']) {
      expect([name, isDangerous(name)]).toEqual([name, false]);
    }
    expect(isDangerousFamily('LD_*')).toBe(true);
    expect(isDangerousFamily('LD_LIB*')).toBe(true);
    expect(isDangerousFamily('L*')).toBe(false);
    expect(isDangerousFamily('NODE_*')).toBe(false);
  });

  it('are listed in SECURITY.md, all of them and no others', () => {
    const page = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
    const [, list = ''] = /who chooses the command\. The list:\s+([^.]*)\./.exec(page) ?? [];
    expect(list.split(/[\s,]+/)).toEqual(dangerousVariables);
  });
});
