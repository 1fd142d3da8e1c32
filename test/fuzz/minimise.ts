// A smaller part of an input that is still wrong: pieces are left out as long as what is left fails
// too, large pieces first, then ever smaller ones (after Zeller's ddmin). Below a size every length is
// tried, because what can be left out of a text in brackets and quotes is seldom a power of two long.

const everySizeFrom = 48;

/** A large input may take for ever: then the smallest so far is taken. */
const mostMs = 5_000;

/** `isWrong` must hold for the input itself. */
export function minimised(input: Buffer, isWrong: (candidate: Buffer) => boolean): Buffer {
  let smallest = input;
  const endAt = Date.now() + mostMs;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = nextSize(size)) {
    for (let at = 0; at + size <= smallest.length; ) {
      if (Date.now() > endAt) return smallest;
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (isWrong(candidate)) smallest = candidate;
      else at += size > everySizeFrom ? size : 1;
    }
  }
  return smallest;
}

function nextSize(size: number): number {
  return size <= everySizeFrom ? size - 1 : Math.max(everySizeFrom, Math.floor(size / 2));
}
