// How much of a heap is data of the program, read from a snapshot of it. Compiled code is part of the
// heap, too: V8 goes on compiling and optimizing functions for minutes, which says nothing about what
// the program keeps. Buffers outside of the heap are measured separately.

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: unknown[] };
  };
  readonly nodes: readonly number[];
}

const notData = new Set(['code', 'native']);

export function dataBytesIn(text: string): number {
  const { snapshot, nodes } = JSON.parse(text) as Snapshot;
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const kinds = types[0] as readonly string[];
  const kindAt = fields.indexOf('type');
  const sizeAt = fields.indexOf('self_size');
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = kinds[nodes[at + kindAt] ?? -1] ?? '';
    if (!notData.has(kind)) bytes += nodes[at + sizeAt] ?? 0;
  }
  return bytes;
}
