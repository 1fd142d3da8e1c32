// Cutting a stream of bytes into lines of text, for the naive floors: a line that came in many
// chunks is joined once, at its end.

export function linesOf(stream, onLine) {
  let parts = [];
  stream.on('data', (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const last = chunk.subarray(start, end);
      onLine((parts.length === 0 ? last : Buffer.concat([...parts, last])).toString('utf8'));
      parts = [];
      start = end + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
}
