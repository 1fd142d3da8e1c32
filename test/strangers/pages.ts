// Pages in a browser against the built gateway, over bare sockets: each request of page-requests.ts twice. First its head
// alone with the first byte of a long body that never follows: the refusal has to come all the same, so that nothing
// of the body can have been read. Then the whole of it, with a call that would leave a line in the ledger. Every answer
// has to be a refusal, and no header of it may allow a page anything.

import { once } from 'node:events';
import { connect } from 'node:net';
import { exactly, fact } from '../proof/report.ts';
import type { Served } from '../support/gateway-home.ts';
import { callHeaders, callText, type PageRequest, pageRequests } from './page-requests.ts';
import { World } from './world.ts';

/** Far more than is sent. */
const announcedBytes = 1_000_000;
/** An answer that does not come is a finding; this is longer than any takes. */
const silentMs = 5_000;
/** Enough to know. */
const mostFindings = 6;

export async function pages() {
  const findings: string[] = [];
  let refusals = 0;
  for (const auth of ['none', 'token'] as const) {
    await using world = await World.create({ auth, audit: 'off' });
    await using served = await world.home.serve();
    await world.warm(served);
    const before = world.effects.length;
    const isAsked = ({ needsTokens = false }: PageRequest) => auth === 'token' || !needsTokens;
    for (const request of pageRequests.filter(isAsked)) {
      for (const form of ['its head', 'all of it'] as const) {
        if (findings.length >= mostFindings) continue;
        const wrong = wrongWith(await answerTo(request, form, served, world));
        if (wrong === undefined) refusals += 1;
        else findings.push(`[pages] ${request.name}, ${form}, auth ${auth}: ${wrong}`);
      }
    }
    const effects = world.effects.length - before;
    if (effects > 0) findings.push(`[pages] auth ${auth}: ${effects} calls have reached a server`);
    findings.push(
      ...(await stillServes(world, served)).map((one) => `[pages] auth ${auth}: ${one}`),
    );
  }
  const figures = [
    fact('requests that pages can make', pageRequests.length),
    fact('refusals of them', refusals),
    exactly('of them that were not refused, or had an effect', findings.length, 0),
  ];
  return { figures, findings };
}

/** The first answer; empty if the connection was closed without one. */
async function answerTo(
  request: PageRequest,
  form: 'its head' | 'all of it',
  { url }: Served,
  { tokens }: World,
): Promise<string> {
  const port = Number(new URL(url).port);
  const { method = 'POST', target = '/mcp', version = 'HTTP/1.1', body = callText } = request;
  const isWhole = form === 'all of it';
  const length = isWhole ? Buffer.byteLength(body) : announcedBytes;
  const headers = { host: '127.0.0.1:N', ...callHeaders, ...request.headers };
  const lines = [
    `${method} ${target} ${version}`,
    ...Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    ),
    ...(request.more ?? []),
    `content-length: ${length}`,
  ];
  const head = `${lines.join('\r\n')}\r\n\r\n`
    .replaceAll(/(?<=[:1.])N\b/g, String(port))
    .replaceAll(/\bT\b/g, tokens.get('all') ?? 'hf_x');
  return await said(port, head + (isWhole ? body : '{'));
}

async function said(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const silent = AbortSignal.timeout(silentMs);
  try {
    socket.write(text);
    const answered = once(socket, 'data', { signal: silent });
    const closed = once(socket, 'close', { signal: silent }).then(() => ['']);
    closed.catch(() => {});
    answered.catch(() => {});
    const [heard] = (await Promise.race([answered, closed])) as [Buffer | string];
    return heard.toString();
  } catch (error) {
    if (silent.aborted) return 'no answer';
    throw error;
  } finally {
    socket.destroy();
  }
}

function wrongWith(answer: string): string | undefined {
  const [head = ''] = answer.split('\r\n\r\n');
  const [status = ''] = head.split('\r\n');
  if (!/^HTTP\/1\.1 4\d\d /.test(status)) return status === '' ? 'no answer' : status;
  return /^(?:access-control-.*|set-cookie:.*|location:.*)$/im.exec(head)?.[0];
}

/** What an ordinary client misses after all that. */
async function stillServes(world: World, served: Served): Promise<readonly string[]> {
  using client = world.client(served, 'all');
  const { json } = await client.modern('tools/call', { name: 'seen__open_000', arguments: {} });
  const text = json.result?.content?.[0]?.text;
  const { code, stderr } = await served.stop();
  return [
    ...(text === 'open_000' ? [] : [`an ordinary call is answered with ${JSON.stringify(json)}`]),
    ...(code === 0 ? [] : [`the gateway ended with ${code}: ${stderr}`]),
  ];
}
