// The error for a file that was not read because of its size. The reader decides what that means.

/**
 * The file is larger than anything that Holdfast writes there. It was not read, or not to its end.
 */
export class FileTooLarge extends Error {
  readonly maxBytes: number;

  constructor(path: string, maxBytes: number) {
    super(`${path} has more than ${maxBytes} bytes`);
    this.name = 'FileTooLarge';
    this.maxBytes = maxBytes;
  }
}
