/** An MCP server over stdin and stdout with one tool, whose name is too long for OpenAI's format. */
import { createInterface } from 'node:readline'

import { toolName, toolResult } from './tool.ts'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly protocolVersion?: string }
}

const results: Readonly<Record<string, (message: Message) => object>> = {
  initialize: ({ params }) => ({
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'warehouse', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: [
      {
        name: toolName,
        description: 'Counts the items in stock.',
        inputSchema: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
      },
    ],
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: toolResult }] }),
}

for await (const line of createInterface(process.stdin)) {
  const message = JSON.parse(line) as Message
  if (message.id === undefined) continue
  const result = results[message.method ?? '']?.(message) ?? {}
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n`)
}
