// Loaded into a gateway: says how many bytes of what it allocates survive the quick rounds of the garbage
// collector. SIGUSR2 begins, and a second one writes the sum into the file that SURVIVORS_FILE names.

const { writeFileSync, renameSync } = require('node:fs');
const { Session } = require('node:inspector');

const file = process.env['SURVIVORS_FILE'];
let session;

process.on('SIGUSR2', () => {
  if (session !== undefined) return end();
  session = new Session();
  session.connect();
  session.post('HeapProfiler.startSampling', {
    samplingInterval: 16_384,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: false,
  });
  say('begun');
});

function end() {
  session.post('HeapProfiler.stopSampling', (error, result) => {
    if (error) throw error;
    say(String(bytesIn(result.profile.head)));
  });
}

function bytesIn({ selfSize, children }) {
  return children.reduce((sum, child) => sum + bytesIn(child), selfSize);
}

function say(text) {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
