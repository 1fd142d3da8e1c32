// The load on a subject that speaks HTTP where wrk is not to be had: one socket per call in flight,
// the request written as it stands in a file (@ID@ is where the call's number goes), and an answer
// over when its declared length or its last chunk is there; nothing else of it is read. It costs
// several times what wrk costs, and its report says how busy it was.

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [host, port, file, inFlight, seconds] = process.argv.slice(2);
const [head, tail] = readFileSync(file, 'latin1').split('@ID@');
const latenciesMs = [];
let id = 100_000_000;
let bytes = 0;
let failures = 0;

const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
await Promise.all(Array.from({ length: Number(inFlight) }, converse));
const elapsedMs = performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpuBefore);
console.log(
  JSON.stringify({
    calls: latenciesMs.length,
    perSecond: latenciesMs.length / (elapsedMs / 1000),
    p50Us: latenciesMs.sort((a, b) => a - b)[Math.floor(latenciesMs.length / 2)] * 1000,
    bytesPerCall: bytes / latenciesMs.length,
    generatorBusy: (user + system) / 1000 / elapsedMs,
    failures,
  }),
);

function converse() {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    let isOver = endOfAnswer();
    let sentAt = 0;
    const send = () => {
      sentAt = performance.now();
      id += 1;
      socket.write(`${head}${id}${tail}`, 'latin1');
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', resolve);
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      if (!isOver(chunk)) return;
      latenciesMs.push(performance.now() - sentAt);
      if (performance.now() - startedAt >= seconds * 1000) {
        socket.destroy();
        return;
      }
      isOver = endOfAnswer();
      send();
    });
  });
}

/** Takes one answer's chunks, and says of each whether it was the last. */
function endOfAnswer() {
  let opening = '';
  let left;
  return (chunk) => {
    if (left !== undefined) {
      left -= chunk.length;
      return left <= 0;
    }
    opening += chunk.toString('latin1');
    const bodyAt = opening.indexOf('\r\n\r\n') + 4;
    if (bodyAt === 3) return false;
    const headers = opening.slice(0, bodyAt).toLowerCase();
    const declared = /content-length: (\d+)/.exec(headers);
    if (!declared) {
      opening = headers + opening.slice(bodyAt).slice(-5);
      return opening.endsWith('0\r\n\r\n');
    }
    if (!headers.startsWith('http/1.1 2')) failures += 1;
    left = Number(declared[1]) - (opening.length - bodyAt);
    return left <= 0;
  };
}
