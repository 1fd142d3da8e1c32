// What the server says about a letter in the subject that it is acknowledged by:
// $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING[.MORE]

/** When the letter was kept, in milliseconds of the server's clock. */
export function keptAt(ack: string): number {
  const parts = ack.split('.');
  // Newer servers name domain and account before the stream.
  return Number(parts[parts.length > 9 ? 9 : 7]) / 1_000_000;
}
