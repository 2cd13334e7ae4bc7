/**
 * The input of a request of Anthropic's format by the specification's estimate: every text of the system prompt and the
 * messages, the tools' definitions, and embedded data by its kind. Roles and the format's own words do not count.
 */
import { objectIn, objectsIn, textIn, type Json } from '../../providers/json-fields.ts'
import { isObject } from '../../providers/usage.ts'
import { embeddedHeadLength, embeddedTokens, TokenCount } from './token-estimate.ts'

export function messagesInputEstimate(request: Json): number {
  const count = new TokenCount()
  addContent(count, request['system'])
  for (const message of objectsIn(request, 'messages')) addContent(count, message['content'])
  for (const definition of [request['tools'], objectIn(request, 'output_config')]) {
    if (definition !== undefined && definition !== null) count.add(JSON.stringify(definition))
  }
  return count.tokens
}

function addContent(count: TokenCount, content: unknown): void {
  if (typeof content === 'string') count.add(content)
  if (!Array.isArray(content)) return
  for (const block of content) if (isObject(block)) addBlock(count, block)
}

function addBlock(count: TokenCount, block: Json): void {
  for (const field of ['text', 'thinking', 'title', 'context', 'name']) count.add(textIn(block, field) ?? '')
  if (isObject(block['input'])) count.add(JSON.stringify(block['input']))
  addContent(count, block['content'])
  const source = objectIn(block, 'source')
  if (source) addSource(count, source, block['type'] === 'document')
}

function addSource(count: TokenCount, source: Json, isDocument: boolean): void {
  const data = textIn(source, 'data') ?? ''
  if (source['type'] === 'text') count.add(data)
  else if (source['type'] === 'content') addContent(count, source['content'])
  else if (source['type'] === 'base64') {
    const head = `data:${textIn(source, 'media_type') ?? ''};base64,${data.slice(0, embeddedHeadLength)}`
    count.addTokens(embeddedTokens('data', head, data.length))
  } else if (!isDocument) count.addTokens(embeddedTokens('url', '', 0))
}
