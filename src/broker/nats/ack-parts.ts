// What the server says about a letter in the subject that it is acknowledged by:
// $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING[.MORE]

export interface AckParts {
  /** Of the letter in its stream. */
  readonly sequence: number;
  /** When it was kept, in milliseconds of the server's clock. */
  readonly keptAt: number;
}

export function ackParts(ack: string): AckParts {
  const parts = ack.split('.');
  // Newer servers name domain and account before the stream.
  const first = parts.length > 9 ? 4 : 2;
  return {
    sequence: Number(parts[first + 3]),
    keptAt: Number(parts[first + 5]) / 1_000_000,
  };
}
