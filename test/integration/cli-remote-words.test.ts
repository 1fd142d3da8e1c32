// What is said of a remote server that cannot be used: the same words in a call, in a list, in the gateway's own
// line and from the doctor.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandLine, commandLine } from '../support/command-line.ts';
import { type StatusServer, statusServer, uselessServers } from '../support/status-server.ts';

const words: readonly (readonly [name: string, code: number, words: RegExp])[] = [
  ['login', 4, /\/401 answers 401: it requires a login; set "headers" of 'login'/],
  ['missing', 3, /\/404 answers 404: there is nothing at this path; correct the path in "url"/],
  [
    'failing',
    3,
    /\/500 answers 500: the server there has an internal error; look at the log of that server/,
  ],
  ['page', 3, /\/200 answers 200 with a web page \(HTML\), not with MCP; correct "url" of 'page'/],
  ['moved', 3, /\/307 redirects \(307\) to https:\/\/elsewhere\.example\/mcp, .*; put the new/],
  ['refused', 3, /:9\/mcp cannot be reached: nothing listens there.* \(ECONNREFUSED\); start the/],
  ['unknown', 3, /\.invalid\/mcp cannot be reached: the host name .*; check the host name/],
  ['tls', 3, /\/200 cannot be reached: TLS: .*; \w/],
];

describe('a remote server that cannot be used', () => {
  let cli: CommandLine;
  let web: StatusServer;

  beforeAll(async () => {
    cli = await commandLine();
    web = await statusServer();
    await cli.servers(uselessServers(web));
  });

  afterAll(async () => {
    await web[Symbol.asyncDispose]();
    await cli[Symbol.asyncDispose]();
  });

  it.each(words)(
    'is reported by a call as by the doctor: %s #command-line',
    async (name, code, line) => {
      const ended = await cli.run(['call', `${name}/x`]);
      expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' });
      expect(ended.stderr).toMatch(line);
      expect(ended.stderr).toMatch(/^holdfast: [^\n]*\n$/);
      // There is no command of its own that could be tried.
      expect(ended.stderr).not.toContain('by hand');
    },
  );

  it('is reported by a list and by the doctor with the same message #command-line', async () => {
    const [listed, checked] = [await cli.run(['tools']), await cli.run(['doctor', '--json'])];
    const { checks } = JSON.parse(checked.stdout);
    for (const [name, , line] of words) {
      expect(listed.stderr, name).toMatch(line);
      const check = checks.find(({ subject }: { subject: string }) => subject === name);
      expect(`${check.text}; ${check.remedy}`).toMatch(line);
    }
  });

  it('is reported in one line by the gateway #command-line', async () => {
    await cli.servers({ refused: { url: 'http://127.0.0.1:9/mcp', lazy: false } }, 'pinned.json');
    const started = cli.start(['serve', '--listen', '127.0.0.1:0', '--config', 'pinned.json']);
    await started.said('\n');
    started.kill('SIGTERM');
    const { stderr } = await started.ended;
    expect(stderr).toMatch(
      /^holdfast: refused: http:\/\/127\.0\.0\.1:9\/mcp cannot be reached: nothing listens there/,
    );
  });
});
