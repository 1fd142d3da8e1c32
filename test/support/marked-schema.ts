// The schema of a tool that wants some of its arguments in headers (`x-mcp-header`).

export const markedSchema = {
  type: 'object',
  properties: {
    tenant: { type: 'string', 'x-mcp-header': 'Tenant-Id' },
    region: { type: 'string', 'x-mcp-header': 'x_region.v1' },
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    where: { type: 'object', properties: { id: { type: 'string', 'x-mcp-header': 'Where' } } },
    note: { type: 'string' },
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Never' } },
  },
};
