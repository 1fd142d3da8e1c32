// A file that was not read because of its size. What that means is for whoever wanted to read it.

/** The file is larger than anything that was written there. It has not been read, or not to its end. */
export class FileTooLarge extends Error {
  readonly maxBytes: number;

  constructor(path: string, maxBytes: number) {
    super(`${path} has more than ${maxBytes} bytes`);
    this.name = 'FileTooLarge';
    this.maxBytes = maxBytes;
  }
}
