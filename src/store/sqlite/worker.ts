// The worker thread that uses the database: forcing a change to the disk takes milliseconds, and must not
// stop the relay. It gets lists of operations and answers each list after its commit.

import { parentPort, workerData } from 'node:worker_threads';
import { loadDriver } from './driver.ts';
import type { Engine } from './engine.ts';
import { openDatabase } from './open-database.ts';
import { OpenError } from './open-error.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

// Node 22 writes to standard error that its SQLite is experimental.
process.removeAllListeners('warning');

const { file, lockMs } = workerData as { readonly file: string; readonly lockMs: number };
const port = parentPort;
if (port === null) throw new Error('this file is for a worker thread');
const say = (message: FromWorker) => port.postMessage(message);

function open(): Engine | undefined {
  const driver = loadDriver();
  if (driver === undefined) {
    const detail = 'neither node:sqlite nor the package libsql can be loaded';
    say({ kind: 'failed', why: 'missing', detail, code: null });
    return undefined;
  }
  try {
    const { engine, findings } = openDatabase(driver, file, lockMs);
    say({ kind: 'opened', driver: driver.name, findings });
    return engine;
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    say({ kind: 'failed', why: error.kind, detail: error.message, code: error.code });
    return undefined;
  }
}

const engine = open();
if (engine === undefined) port.close();

port.on('message', (message: ToWorker) => {
  if (engine === undefined) return;
  if (message.kind === 'apply') {
    say({ kind: 'applied', batch: message.batch, outcomes: engine.apply(message.operations) });
    engine.tidy();
    return;
  }
  engine.close();
  say({ kind: 'closed' });
  port.close();
});
