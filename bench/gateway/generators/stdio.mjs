// The load on a subject that speaks stdio: keeps a number of calls in flight through its own stdin
// (the subject's answers) and stdout (calls to the subject), and reports to descriptor 3. Blocking
// reads and writes without an event loop, and answers are counted by their line feeds, not parsed:
// it must cost less than any subject. The frame comes with `@ID@` where the call's number goes.

import { readSync, writeSync } from 'node:fs';

const { frame, inFlight, seconds } = JSON.parse(process.argv[2]);
const [head, tail] = frame.split('@ID@');
const chunk = Buffer.allocUnsafeSlow(1 << 20);
let lastId = 100_000_000 + Math.floor(Math.random() * 800_000_000);

const firstAnswer = firstCall();
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
const measured = run();
const elapsedMs = performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpuBefore);
writeSync(
  3,
  JSON.stringify({
    calls: measured.calls,
    perSecond: measured.calls / (elapsedMs / 1000),
    p50Us: median(measured.latenciesMs) * 1000,
    bytesPerCall: measured.bytes / measured.calls,
    generatorBusy: (user + system) / 1000 / elapsedMs,
    firstAnswer,
  }),
);

/** Sends until the time is over, then waits for what is still in flight. */
function run() {
  const latenciesMs = [];
  let calls = 0;
  let bytes = 0;
  let sent = inFlight;
  let sentAt = performance.now();
  send(sent);
  while (calls < sent) {
    const read = receive();
    bytes += read;
    const answers = linesIn(read);
    if (answers === 0) continue;
    calls += answers;
    if (inFlight === 1) latenciesMs.push(performance.now() - sentAt);
    sentAt = performance.now();
    if (sentAt - startedAt >= seconds * 1000) continue;
    send(answers);
    sent += answers;
  }
  return { calls, bytes, latenciesMs };
}

/** Every call is a write of its own: the calls in flight are independent of each other. */
function send(count) {
  for (let i = 0; i < count; i += 1) {
    lastId += 1;
    writeSync(1, `${head}${lastId}${tail}\n`, null, 'latin1');
  }
}

function receive() {
  const read = readSync(0, chunk);
  if (read === 0) throw new Error('The subject closed its stdout.');
  return read;
}

function linesIn(length) {
  const bytes = chunk.subarray(0, length);
  let lines = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines += 1;
  return lines;
}

/** The opening of one whole answer, for the eyes of whoever ordered the load. */
function firstCall() {
  send(1);
  let text = '';
  while (!text.endsWith('\n')) {
    text += chunk.latin1Slice(0, receive());
  }
  return text.slice(0, 600);
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
