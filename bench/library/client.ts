// What the benchmark compares: something that calls `echo` on a server of its own.

export interface EchoClient extends AsyncDisposable {
  readonly name: string;
  /** Returns the text that came back. */
  echo(text: string, repeat: number): Promise<string>;
}
