// Loaded into a gateway by `call-path.ts`: at the first SIGUSR2 it begins to count the functions that
// run; at each later one it writes what has run since the one before. The files are HOLDFAST_TRACE with
// the number of the signal behind it.

import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const session = new Session();
session.connect();
session.post('Profiler.enable');
let signals = 0;

process.on('SIGUSR2', () => {
  const isFirst = signals === 0;
  const [method, options] = isFirst
    ? ['Profiler.startPreciseCoverage', { callCount: true, detailed: false }]
    : ['Profiler.takePreciseCoverage', {}];
  session.post(method, options, (error, taken) => write(signals++, error ? [] : taken.result));
});

function write(number, scripts) {
  const file = `${process.env.HOLDFAST_TRACE}.${number}`;
  writeFileSync(`${file}.part`, JSON.stringify(scripts ?? []));
  renameSync(`${file}.part`, file);
}
