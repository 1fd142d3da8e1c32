// Loaded into a gateway that was started with --expose-gc: on SIGUSR2 it writes into the file that HEAP_FILE
// names how many bytes are in use after a collection.

const { renameSync, writeFileSync } = require('node:fs');

const file = process.env['HEAP_FILE'];

process.on('SIGUSR2', () => {
  global.gc();
  // What was freed by it may hold more.
  setImmediate(() => {
    global.gc();
    writeFileSync(`${file}.new`, String(process.memoryUsage().heapUsed));
    renameSync(`${file}.new`, file);
  });
});
