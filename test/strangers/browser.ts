// The same with a real browser: a page of another port of this machine tries what a page can try against a gateway
// that asks for no token. Chromium is used where it is installed; what the page was told is what it writes into itself.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exactly, type Figure, fact } from '../proof/report.ts';
import { callHeaders, callText } from './page-requests.ts';
import { World } from './world.ts';

const programs = ['chromium', 'chromium-browser', 'google-chrome'];
/** A browser that hangs is ended after so long. */
const patienceMs = 60_000;

/** What the page tries; each gives a word for what it got. `null` as the answer means that it could not read one. */
const script = `
const [base, body, headers] = JSON.parse(document.getElementById('facts').textContent);
const post = (init) => fetch(base + '/mcp', { method: 'POST', body, ...init }).then((r) => r.text());
const loaded = (tag, path) => new Promise((resolve) => {
  const one = document.createElement(tag);
  one.onload = () => resolve('loaded');
  one.onerror = () => resolve(null);
  one.src = base + path;
  document.body.append(one);
});
const tries = {
  'fetch of JSON': () => post({ headers }),
  'fetch of plain text': () => post({ mode: 'no-cors' }),
  'fetch with credentials': () => post({ headers, credentials: 'include' }),
  'fetch of /healthz': () => fetch(base + '/healthz').then((r) => r.text()),
  'DELETE': () => fetch(base + '/mcp', { method: 'DELETE' }).then((r) => r.text()),
  'sendBeacon': async () => void navigator.sendBeacon(base + '/mcp', body),
  'sendBeacon of JSON': async () =>
    void navigator.sendBeacon(base + '/mcp', new Blob([body], { type: 'application/json' })),
  'EventSource': () => new Promise((resolve) => {
    const source = new EventSource(base + '/sse');
    source.onopen = () => resolve('opened');
    source.addEventListener('endpoint', () => resolve('opened'));
    source.onerror = () => { source.close(); resolve(null); };
  }),
  'WebSocket': () => new Promise((resolve) => {
    const socket = new WebSocket(base.replace('http', 'ws') + '/mcp');
    socket.onopen = () => resolve('opened');
    socket.onerror = () => resolve(null);
  }),
  'a script': () => loaded('script', '/healthz'),
  'an image': () => loaded('img', '/healthz'),
  'a form': () => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.name = 'target';
    document.body.append(frame);
    const form = document.createElement('form');
    Object.assign(form, { action: base + '/mcp', method: 'post', enctype: 'text/plain', target: 'target' });
    const input = document.createElement('input');
    Object.assign(input, { name: body.slice(0, -1) + ',"a":"', value: '"}' });
    form.append(input);
    document.body.append(form);
    frame.onload = () => resolve(null);
    form.submit();
  }),
};
const told = {};
(async () => {
  for (const [name, attempt] of Object.entries(tries)) {
    told[name] = await attempt().then((text) => text || null, () => null);
  }
  await fetch('/done', { method: 'POST', body: JSON.stringify(told) });
})();
`;

export async function inBrowser(): Promise<{
  readonly figures: readonly Figure[];
  readonly findings: readonly string[];
}> {
  const findings: string[] = [];
  await using world = await World.create({ auth: 'none', audit: 'off' });
  await using served = await world.home.serve();
  await world.warm(served);
  const before = world.effects.length;
  const told = await toldToPage(new URL(served.url).origin, world.home.file('profile'));
  if (told === undefined)
    return { figures: [fact('tries of a page in Chromium', 'not installed')], findings };
  const tries = Object.entries(told);
  for (const [name, text] of tries) {
    if (text !== null) findings.push(`[pages] in Chromium, ${name}: the page was told ${text}`);
  }
  const effects = world.effects.length - before;
  if (effects > 0) findings.push(`[pages] in Chromium: ${effects} calls have reached a server`);
  const figures = [
    fact('tries of a page in Chromium', tries.length),
    exactly('of them that told it something, or had an effect', findings.length, 0),
  ];
  return { figures, findings };
}

/** By the name of what it tried; undefined if there is no browser. */
async function toldToPage(
  base: string,
  profile: string,
): Promise<Readonly<Record<string, string | null>> | undefined> {
  const facts = JSON.stringify([base, callText, callHeaders]).replaceAll('<', '\\u003c');
  const page = `<body><script type="application/json" id="facts">${facts}</script><script>${script}</script>`;
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(patienceMs)]);
  let finish: (text: string) => void = () => {};
  const done = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const server = createServer((req, res) => {
    if (req.method !== 'POST') {
      res.setHeader('content-type', 'text/html').end(page);
      return;
    }
    let text = '';
    req.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    req.on('end', () => {
      res.end();
      finish(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    for (const program of programs) {
      const browsed = browse(program, url, profile, signal);
      const text = await Promise.race([done, browsed]);
      if (text === undefined) continue;
      ended.abort();
      await browsed;
      return JSON.parse(text) as Readonly<Record<string, string | null>>;
    }
    return undefined;
  } finally {
    ended.abort();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Undefined if there is no such program; otherwise it ends when it is told to, or fails. */
function browse(
  program: string,
  url: string,
  profile: string,
  signal: AbortSignal,
): Promise<undefined> {
  return new Promise((resolve, reject) => {
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run'];
    const child = spawn(program, [...flags, `--user-data-dir=${profile}`, url], {
      stdio: 'ignore',
      signal,
      killSignal: 'SIGKILL',
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.name === 'AbortError') return;
      reject(error);
    });
    child.on('close', (code) => {
      const isMissing = child.pid === undefined;
      if (isMissing || signal.aborted) resolve(undefined);
      else reject(new Error(`${program} ended with ${code} before the page was done`));
    });
  });
}
