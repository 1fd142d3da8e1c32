// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the forms are the subject
// 200 secrets of every origin, given to servers that tell all they were given: on stderr, on stdout, in
// results, in refusals. They reach the servers that they are for, and are found nowhere else: not in what any
// command shows, not in the state directory, not in the command line of any process, not in the environment
// of another one. Each secret has a word of its own, whose halves are looked for
// as they are and in Base64.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { canaries, filesBelow, foundIn, pairs, processes, type Seen } from '../support/canaries.ts';
import { commandLine } from '../support/command-line.ts';
import { faultyStdio } from '../support/faulty.ts';

const program = fileURLToPath(new URL('../fixtures/servers/leaking/main.mjs', import.meta.url));
const leaking = (...args: readonly string[]) => ({ command: 'node', args: [program, ...args] });

describe('two hundred secrets', () => {
  it('reach the servers that they are for, and are shown and stored nowhere #stderr-guarded', async () => {
    await using cli = await commandLine();
    const literal = canaries('LITERAL', 40);
    const variable = canaries('VARIABLE', 30);
    const inherited = canaries('INHERITED', 20);
    const file = canaries('FILE', 40);
    const printed = canaries('PRINTED', 40);
    const header = canaries('Header', 30).map((one) => ({ ...one, value: `k/${one.word}+` }));
    const all = [...literal, ...variable, ...inherited, ...file, ...printed, ...header];
    expect(all).toHaveLength(200);
    for (const { name, value } of [...file, ...printed, ...header]) {
      await writeFile(cli.file(name), `${value}\n`, { mode: 0o600 });
    }
    const half = <T>(of: readonly T[], second: boolean) =>
      second ? of.slice(of.length / 2) : of.slice(0, of.length / 2);
    const given = (second: boolean) => ({
      env: {
        ...pairs(half(literal, second), ({ value }) => value.replaceAll('${', '$${')),
        ...pairs(half(variable, second), ({ name }) => `\${env:GIVEN_${name}}`),
        ...pairs(half(file, second), ({ name }) => `\${file:${name}}`),
        ...pairs(half(printed, second), ({ name }) => `\${cmd:cat ${name}}`),
      },
      inheritEnv: half(inherited, second).map(({ name }) => name),
    });
    const heard: string[] = [];
    const http = createServer((request, response) => {
      heard.push(JSON.stringify(request.headers));
      response.writeHead(403, 'Forbidden').end(JSON.stringify(request.headers));
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
    const { port } = http.address() as AddressInfo;
    const headers = {
      ...pairs(half(header, false), ({ value }) => `Bearer ${value}`),
      ...pairs(half(header, true), ({ name }) => `Bearer \${file:${name}}`),
    };
    await cli.servers({
      leaky: { ...leaking(), ...given(false) },
      failing: { ...leaking('--fail'), ...given(true) },
      remote: { url: `http://127.0.0.1:${port}/mcp`, headers },
      other: faultyStdio(),
    });
    const env = {
      ...Object.fromEntries(variable.map(({ name, value }) => [`GIVEN_${name}`, value])),
      ...pairs(inherited, ({ value }) => value),
    };
    const serving = cli.start(['serve', '--listen', '127.0.0.1:0', '--json'], { env });
    await serving.printed('\n');

    // They arrive, and the other server runs beside them.
    const told = await cli.run(['call', 'leaky/tell', '--json']);
    const first = [literal, variable, inherited, file, printed].flatMap((of) => half(of, false));
    expect(foundIn(told.stdout, all)).toEqual(first.map(({ name }) => name));
    expect((await cli.run(['call', 'other/echo', 'text=hi'])).code).toBe(0);

    // While they run: no command line has one, and no environment of others.
    const running = processes();
    expect(running.flatMap(({ line }) => foundIn(line, all))).toEqual([]);
    const isOfServe = ({ line }: Seen) => line.includes('\0serve\0--listen\x00127.0.0.1:0');
    const isLeaky = ({ line }: Seen) => line.includes(program);
    expect(running.filter(isLeaky).some((one) => foundIn(one.environment, file).length > 0)).toBe(
      true,
    );
    const others = running.filter((one) => !isLeaky(one));
    for (const one of others) {
      const allowed = isOfServe(one) ? [...variable, ...inherited] : [];
      const known = new Set(allowed.map(({ name }) => name));
      expect(foundIn(one.environment, all).filter((name) => !known.has(name))).toEqual([]);
    }

    // What is shown, while things fail.
    const shown: string[] = [];
    const run = async (...words: readonly string[]) => {
      const { stdout, stderr } = await cli.run(words, { env });
      shown.push(`${words.join(' ')}\n${stdout}\n${stderr}`);
      return stdout;
    };
    for (const target of ['leaky/die', 'failing/x', 'remote/x']) {
      await run('call', target);
      await run('call', target, '--json');
    }
    expect(foundIn(heard.join(), all)).toEqual(header.map(({ name }) => name));
    for (const name of ['leaky', 'failing', 'remote']) {
      await run('status', name);
      await run('status', name, '--json');
    }
    const lines = await run('logs', 'leaky');
    expect(lines).toContain('[env FILE_0]');
    expect(lines).toContain('[env PRINTED_1]');
    for (const words of ['logs failing', 'status', 'status --json', 'tools', 'tools --json']) {
      await run(...words.split(' '));
    }
    await run('search', 'tell');
    await run('doctor');
    serving.kill('SIGTERM');
    const { stdout, stderr, code } = await serving.ended;
    expect(code).toBe(0);
    shown.push(`serve\n${stdout}\n${stderr}`);
    await run('status', '--json');
    await run('status', 'failing');
    for (const text of shown)
      expect([text.split('\n')[0], foundIn(text, all)]).toEqual([text.split('\n')[0], []]);

    // What is stored.
    const stored = filesBelow(cli.file('state'));
    expect(stored.length).toBeGreaterThan(2);
    for (const path of stored) {
      expect([path, foundIn(readFileSync(path, 'latin1'), all)]).toEqual([path, []]);
    }
    http.close();
  });
});
