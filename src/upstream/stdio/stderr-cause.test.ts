import { describe, expect, it } from 'vitest';
import { causeIn } from './stderr-cause.ts';

const lineOf = (text: string) => causeIn(text.split('\n'))?.line;

describe('the line of stderr that tells why', () => {
  it('is the error of a Node program, not the version below its stack #failing-cause', () => {
    const text = `/srv/server.js:3
throw new Error('DATABASE_URL is not set');
^

Error: DATABASE_URL is not set
    at Object.<anonymous> (/srv/server.js:3:7)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)
    at node:internal/main/run_main_module:36:49

Node.js v20.20.2`;
    expect(causeIn(text.split('\n'))).toEqual({
      line: 'Error: DATABASE_URL is not set',
      isError: true,
      excerpt: 'Error: DATABASE_URL is not set',
    });
  });

  it('is the message above what Node adds to a missing module', () => {
    const text = `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/index.js'
    at Function._resolveFilename (node:internal/modules/cjs/loader:1225:15) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2`;
    expect(lineOf(text)).toBe("Error: Cannot find module '/srv/index.js'");
  });

  it('is the last line of a Python traceback', () => {
    const text = `Traceback (most recent call last):
  File "/srv/server.py", line 2, in <module>
    key = os.environ["API_KEY"]
          ~~~~~~~~~~^^^^^^^^^^^
KeyError: 'API_KEY'`;
    expect(lineOf(text)).toBe("KeyError: 'API_KEY'");
  });

  it("is the first thing that npm says, after the error's code", () => {
    const text = `npm warn exec The following package was not found
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such
npm error 404
npm error 404  'no-such@*' is not in this registry.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/x.log`;
    expect(lineOf(text)).toBe('npm error 404 Not Found - GET https://registry.npmjs.org/no-such');
  });

  it('is what a Go or Rust program panics with', () => {
    const go =
      'panic: no config\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:5 +0x2c\nexit status 2';
    expect(lineOf(go)).toBe('panic: no config');
    const rust = `thread 'main' panicked at src/main.rs:2:5:
the key is missing
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`;
    expect(lineOf(rust)).toBe('the key is missing');
  });

  it('is the last that reads like an error, or else the last', () => {
    expect(lineOf('starting\nconfig file is missing\nbye')).toBe('config file is missing');
    expect(causeIn(['starting', 'listening on stdio', ''])).toMatchObject({
      line: 'listening on stdio',
      isError: false,
    });
    expect(causeIn(['', '  '])).toBeUndefined();
    expect(causeIn([])).toBeUndefined();
  });

  it('comes with a few lines around it, none of them endless', () => {
    const many = Array.from({ length: 50 }, (_, index) => `step ${index}`);
    const cause = causeIn([...many, 'Error: broken', 'bye', 'x'.repeat(9_000)]);
    expect(cause?.line).toBe('Error: broken');
    const lines = cause?.excerpt.split('\n') ?? [];
    expect(lines.slice(0, 4)).toEqual(['step 48', 'step 49', 'Error: broken', 'bye']);
    expect(lines[4]).toHaveLength(300);
    const early = causeIn(['Error: broken', ...many])?.excerpt.split('\n');
    expect(early).toEqual(['Error: broken', 'step 0', 'step 1', 'step 2', 'step 3']);
  });

  it('takes no time that grows with what a hostile line repeats', () => {
    const hostile = [`${'Error'.repeat(1_600)}!`, `${' '.repeat(8_000)}x`, `${'^'.repeat(8_000)}x`];
    expect(causeIn(hostile)?.isError).toBe(true);
  });
});
