// Joins pieces of text and bytes into one buffer with one copy. Pieces stay separate as long as
// possible; the code that writes them decides which to join.

export type Piece = string | Buffer;

/** The pieces from `from` up to `to` as one buffer of its own. */
export function joinPieces(pieces: readonly Piece[], from = 0, to = pieces.length): Buffer {
  let bytes = 0;
  for (let at = from; at < to; at++) bytes += byteLengthOf(pieces[at] as Piece);
  const out = Buffer.allocUnsafe(bytes);
  let end = 0;
  for (let at = from; at < to; at++) {
    const piece = pieces[at] as Piece;
    end += typeof piece === 'string' ? out.write(piece, end) : piece.copy(out, end);
  }
  return out;
}

/** Adds the pieces and a line end, which is a piece of its own only where it has to be. */
export function pushLine(onto: Piece[], pieces: readonly Piece[]): void {
  const last = pieces.length - 1;
  for (let at = 0; at < last; at++) onto.push(pieces[at] as Piece);
  const end = pieces[last] ?? '';
  if (typeof end === 'string') onto.push(`${end}\n`);
  else onto.push(end, '\n');
}

export function byteLengthOf(piece: Piece): number {
  return typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
}
