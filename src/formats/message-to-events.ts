/**
 * A whole message in Anthropic's format as the events of a stream (Anthropic, "Streaming messages"), for an upstream that sends
 * it where a stream was asked for.
 */
import { getObjects, type Json } from '../providers/json-fields.ts'
import { contentBlockStop, encodeMessagesEvent, messageStop } from './messages-events.ts'

/** The block as it starts, and what its deltas add to it. */
function splitBlock(block: Json): { readonly start: Json; readonly deltas: readonly Json[] } {
  switch (block['type']) {
    case 'text': {
      const { citations: _citations, ...rest } = block
      const cited = getObjects(block, 'citations').map((citation) => ({ type: 'citations_delta', citation }))
      return {
        start: { ...rest, text: '' },
        deltas: [...cited, { type: 'text_delta', text: block['text'] }],
      }
    }
    case 'thinking': {
      const { thinking, signature } = block
      const deltas = [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ]
      return { start: { ...block, thinking: '', signature: '' }, deltas }
    }
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use': {
      const input = JSON.stringify(block['input'] ?? {})
      return {
        start: { ...block, input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: input }],
      }
    }
    default:
      return { start: block, deltas: [] }
  }
}

export function messageToEvents(message: Json): Buffer {
  const { content: _content, stop_reason, stop_sequence = null, stop_details, usage, ...head } = message
  const started = { ...head, content: [], stop_reason: null, stop_sequence: null, usage }
  const blocks = getObjects(message, 'content').flatMap((block, index) => {
    const { start, deltas } = splitBlock(block)
    return [
      encodeMessagesEvent('content_block_start', { index, content_block: start }),
      ...deltas.map((delta) => encodeMessagesEvent('content_block_delta', { index, delta })),
      contentBlockStop(index),
    ]
  })
  const delta = { stop_reason, stop_sequence, ...(stop_details === undefined ? {} : { stop_details }) }
  return Buffer.concat([
    encodeMessagesEvent('message_start', { message: started }),
    ...blocks,
    encodeMessagesEvent('message_delta', { delta, usage }),
    messageStop,
  ])
}
