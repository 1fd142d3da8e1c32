// What a client wrote when it cancelled a request. It is the reason of the cancellation on its way
// through the pipeline, and the connection that sent the request writes it with its own id of it.

import type { Params } from './frames.ts';

export class ClientCancel {
  /** The parameters of the client's notification, with the id that the server knows. */
  readonly paramsFor: (requestId: number) => Params;

  constructor(paramsFor: (requestId: number) => Params) {
    this.paramsFor = paramsFor;
  }
}
