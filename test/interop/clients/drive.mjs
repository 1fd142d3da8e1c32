// What every client is made to do, in terms of what it can: connect, list, call a tool, meet a tool
// that says isError, meet a name that is unknown, and call again. How it reports an error is the
// client's own (a result or an exception), so both count; silence and a success do not. The script of
// a client says how it does these things, and one line of JSON per step is printed for the proof.

import { createInterface } from 'node:readline';

const { INTEROP } = process.env;

/** { transport, url, sseUrl, headers, stdio: { command, args, env }, isKept } */
export const target = JSON.parse(INTEROP ?? '{}');

/** Above 2^53 in digits, and beyond ASCII: a client that mangles text would show it. */
const words = 'kelp ✓ 9007199254740993 "quoted"';

/**
 * `connect()`, `list()` (names), `call(name, args)` (a text, and whether it was an error) and
 * `close()` are the client's. `callsUnlisted: false` is for one that has only functions for tools
 * that are listed.
 */
export async function drive(client) {
  if (target.isKept) await keep(client);
  else await once(client);
}

/** Connects and lists, and from then on calls once for each line on stdin: one session, many gateways. */
async function keep({ connect, list, call, close }) {
  const step = async (name, work) => {
    try {
      report(name, true, (await work()) ?? '');
    } catch (error) {
      report(name, false, error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  };
  await step('connect', connect);
  await step('list', list);
  for await (const _ of createInterface({ input: process.stdin })) {
    await step('call', () => echo(call));
  }
  // The gateway may be gone.
  await Promise.race([close(), new Promise((resolve) => setTimeout(resolve, 2_000).unref())]).catch(
    () => {},
  );
  process.exit();
}

async function once({ connect, list, call, close, callsUnlisted = true }) {
  const step = async (name, work) => {
    try {
      report(name, true, await work());
    } catch (error) {
      report(name, false, error instanceof Error ? (error.stack ?? error.message) : String(error));
      throw error;
    }
  };
  try {
    await step('connect', async () => (await connect()) ?? '');
    await step('list', async () => {
      const names = await list();
      const isThere = (wanted) => names.some((name) => name.endsWith(wanted));
      if (!isThere('everything__echo') || !isThere('files__read_text_file')) {
        throw new Error(`listed only ${names.join(', ')}`);
      }
      return names.length;
    });
    await step('call', () => echo(call));
    await step('isError', () => failing(call, 'files__read_text_file', { path: '/no/such/file' }));
    if (callsUnlisted) await step('unknown', () => failing(call, 'no_such_tool', {}));
    else report('unknown', true, 'cannot be asked for');
    await step('again', () => echo(call));
  } catch {
    process.exitCode = 1; // the step has been reported
  }
  await close();
}

async function echo(call) {
  const { text } = await call('everything__echo', { message: words });
  if (!text.includes(`Echo: ${words}`)) throw new Error(`answered ${text.slice(0, 500)}`);
  return '';
}

async function failing(call, name, args) {
  let answer;
  try {
    answer = await call(name, args);
  } catch (error) {
    return `thrown: ${firstLine(error)}`;
  }
  if (!answer.isError) throw new Error(`no error: ${answer.text.slice(0, 500)}`);
  return `result: ${firstLine(answer.text)}`;
}

function report(step, isOk, saw) {
  process.stdout.write(`${JSON.stringify({ step, isOk, saw: String(saw).slice(0, 600) })}\n`);
}

function firstLine(value) {
  const text = value instanceof Error ? value.message : String(value);
  return (text.split('\n')[0] ?? '').slice(0, 200);
}

/** The text blocks of a result, and whether it is an error. */
export function answerOf({ content = [], isError = false }) {
  const texts = content.map(({ text }) => text ?? '');
  return { text: texts.join('\n'), isError };
}
