/**
 * Estimates the input tokens of a request in Anthropic's format: every text of the system prompt and the messages, the
 * tool definitions, and embedded data by its kind. Roles and the format's own keywords do not count.
 */
import { getObject, getObjects, getString, isObject, type Json } from '../../providers/json-fields.ts'
import { embeddedPrefixLength, embeddedTokens } from './embedded-data.ts'
import { TokenCounter } from './token-estimate.ts'

export function estimateMessagesInput(request: Json): number {
  const count = new TokenCounter()
  addContent(count, request['system'])
  for (const message of getObjects(request, 'messages')) addContent(count, message['content'])
  for (const definition of [request['tools'], getObject(request, 'output_config')]) {
    if (definition !== undefined && definition !== null) count.add(JSON.stringify(definition))
  }
  return count.tokens
}

function addContent(count: TokenCounter, content: unknown): void {
  if (typeof content === 'string') count.add(content)
  if (!Array.isArray(content)) return
  for (const block of content) if (isObject(block)) addBlock(count, block)
}

function addBlock(count: TokenCounter, block: Json): void {
  for (const field of ['text', 'thinking', 'title', 'context', 'name'])
    count.add(getString(block, field) ?? '')
  if (isObject(block['input'])) count.add(JSON.stringify(block['input']))
  addContent(count, block['content'])
  const source = getObject(block, 'source')
  if (source) addSource(count, source, block['type'] === 'document')
}

function addSource(count: TokenCounter, source: Json, isDocument: boolean): void {
  const data = getString(source, 'data') ?? ''
  if (source['type'] === 'text') count.add(data)
  else if (source['type'] === 'content') addContent(count, source['content'])
  else if (source['type'] === 'base64') {
    const head = `data:${getString(source, 'media_type') ?? ''};base64,${data.slice(0, embeddedPrefixLength)}`
    count.addTokens(embeddedTokens('data', head, data.length))
  } else if (!isDocument) count.addTokens(embeddedTokens('url', '', 0))
}
