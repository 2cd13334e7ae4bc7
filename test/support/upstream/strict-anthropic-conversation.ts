/**
 * The rules of Anthropic's Messages API for content and turns. Sources: the types of Anthropic's Python library of
 * August 2026, which are generated from the OpenAPI document, and the texts of the API's errors, which are quoted here as
 * they appear in public issues.
 */

import { isObject } from '../../../src/providers/json-fields.ts'
import { isGiven, type Json, objectIn, objectsIn, reject, stringIn } from './strict-rules.ts'

/** `…BlockParam`: the fields of each block; blocks of tools that Anthropic runs are not validated. */
const blockFields: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'citations'],
  image: ['source'],
  document: ['source', 'citations', 'context', 'title'],
  search_result: ['content', 'source', 'title', 'citations'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'input', 'name', 'caller'],
  tool_result: ['tool_use_id', 'content', 'is_error'],
}
const serverBlocks =
  /^(?:server_tool_use|\w+_tool_result|container_upload|tool_reference|mid_conv_system|mcp_tool_use|compaction)$/
const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const callId = /^[a-zA-Z0-9_-]+$/
const maxToolUseName = 200

export function rejectExtraFields(object: Json, known: readonly string[], path: string): void {
  const extra = Object.keys(object).find((field) => !known.includes(field))
  if (extra !== undefined) reject(`${path === '' ? '' : `${path}.`}${extra}: Extra inputs are not permitted`)
}

export function requireField(object: Json, field: string, path: string): unknown {
  if (object[field] === undefined) reject(`${path === '' ? '' : `${path}.`}${field}: Field required`)
  return object[field]
}

/** `CacheControlEphemeralParam`. */
export function validateCacheControl(object: Json, path: string): void {
  if (!isGiven(object, 'cache_control')) return
  const control = objectIn(object['cache_control'])
  rejectExtraFields(control, ['type', 'ttl'], `${path}.cache_control.ephemeral`)
  if (control['type'] !== 'ephemeral') reject(`${path}.cache_control.type: Input should be 'ephemeral'`)
  if (isGiven(control, 'ttl') && !['5m', '1h'].includes(stringIn(control['ttl'])))
    reject(`${path}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'`)
}

/** "messages: text content blocks must be non-empty", "… must contain non-whitespace text". */
function validateText(text: unknown, scope: string, path: string): void {
  if (typeof text !== 'string') return reject(`${path}.text: Input should be a valid string`)
  if (text === '') reject(`${scope}: text content blocks must be non-empty`)
  if (text.trim() === '') reject(`${scope}: text content blocks must contain non-whitespace text`)
}

/** `Base64ImageSourceParam`, `URLImageSourceParam`, `Base64PDFSourceParam`, `URLPDFSourceParam`, `PlainTextSourceParam`, `ContentBlockSourceParam`. */
function validateSource(block: Json, path: string): void {
  const source = objectIn(requireField(block, 'source', path))
  const type = stringIn(source['type'])
  const here = `${path}.source.${type}`
  const isImage = block['type'] === 'image'
  if (type === 'base64') {
    rejectExtraFields(source, ['type', 'media_type', 'data'], here)
    const allowed = isImage ? imageTypes : ['application/pdf']
    if (!allowed.includes(stringIn(source['media_type'])))
      reject(`${here}.media_type: Input should be ${allowed.map((each) => `'${each}'`).join(' or ')}`)
    if (stringIn(source['data']) === '') reject(`${here}.data: Field required`)
  } else if (type === 'url') {
    rejectExtraFields(source, ['type', 'url'], here)
    if (!/^https?:\/\//.test(stringIn(source['url']))) reject(`${here}.url: Input should be a valid URL`)
  } else if (isImage || !['text', 'content', 'file'].includes(type))
    reject(`${path}.source: Input tag '${type}' found using 'type' does not match any of the expected tags`)
  else if (type === 'text' && source['media_type'] !== 'text/plain')
    reject(`${here}.media_type: Input should be 'text/plain'`)
}

function validateToolResult(block: Json, path: string): void {
  if (!callId.test(stringIn(requireField(block, 'tool_use_id', path))))
    reject(`${path}.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  const { content } = block
  if (content === undefined || typeof content === 'string') return
  if (!Array.isArray(content)) return reject(`${path}.content: Input should be a valid list`)
  for (const [index, each] of objectsIn(content).entries()) {
    const type = stringIn(each['type'])
    if (!['text', 'image', 'document', 'search_result', 'tool_reference'].includes(type))
      reject(
        `${path}.content.${index}: Input tag '${type}' found using 'type' does not match any of the expected tags`,
      )
    validateBlock(each, `${path}.content.${index}`, 'user')
  }
}

function validateToolUse(block: Json, path: string): void {
  if (!callId.test(stringIn(requireField(block, 'id', path))))
    reject(`${path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  const name = stringIn(requireField(block, 'name', path))
  if (name === '') reject(`${path}.name: String should have at least 1 character`)
  // "messages.1.content.1.tool_use.name: String should have at most 200 characters"
  if (name.length > maxToolUseName) reject(`${path}.name: String should have at most 200 characters`)
  // "messages.1.content.0.tool_use.input: Input should be a valid dictionary"
  if (!isObject(requireField(block, 'input', path)))
    reject(`${path}.input: Input should be a valid dictionary`)
}

function validateBlock(block: Json, where: string, role: string): void {
  const type = stringIn(block['type'])
  const fields = blockFields[type]
  if (!fields) {
    if (serverBlocks.test(type)) return
    return reject(`${where}: Input tag '${type}' found using 'type' does not match any of the expected tags`)
  }
  const path = `${where}.${type}`
  rejectExtraFields(block, ['type', ...(type.endsWith('thinking') ? [] : ['cache_control']), ...fields], path)
  validateCacheControl(block, path)
  if (type === 'text') validateText(block['text'], 'messages', path)
  if (type === 'image' || type === 'document') validateSource(block, path)
  // "`tool_use` blocks can only be in `assistant` messages"
  const side = {
    tool_use: 'assistant',
    thinking: 'assistant',
    redacted_thinking: 'assistant',
    tool_result: 'user',
  }[type]
  if (side !== undefined && side !== role)
    reject(`${where}: \`${type}\` blocks can only be in \`${side}\` messages`)
  if (type === 'tool_use') validateToolUse(block, path)
  if (type === 'tool_result') validateToolResult(block, path)
  if (type === 'thinking') for (const field of ['thinking', 'signature']) requireField(block, field, path)
  if (type === 'redacted_thinking') requireField(block, 'data', path)
}

interface Turn {
  readonly role: string
  /** The position of its first message. */
  readonly index: number
  readonly blocks: Json[]
}

/** "Consecutive `user` or `assistant` turns in your request will be combined into a single turn." */
function combineTurns(messages: readonly Json[]): Turn[] {
  const turns: Turn[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsIn(content)
    const last = turns.at(-1)
    if (last && last.role === role) last.blocks.push(...blocks)
    else turns.push({ role: stringIn(role), index, blocks: [...blocks] })
  }
  return turns
}

/**
 * "Each `tool_use` block must have a corresponding `tool_result` block in the next message." and the reverse. Results
 * come first in their message (Anthropic, "Handle tool calls"), with the same error.
 */
function validateCalls(turns: readonly Turn[]): void {
  const seen = new Set<unknown>()
  for (const [position, { index, blocks }] of turns.entries()) {
    const previous = turns[position - 1]
    const called =
      previous?.role === 'assistant' ? previous.blocks.filter(({ type }) => type === 'tool_use') : []
    const ids = called.map(({ id }) => id)
    for (const [place, { type, id, tool_use_id: resultId }] of blocks.entries()) {
      if (type === 'tool_use' && seen.size === seen.add(id).size)
        reject(`messages.${index}.content.${place}: \`tool_use\` ids must be unique`)
      if (type === 'tool_result' && !ids.includes(resultId))
        reject(
          `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(resultId)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
        )
    }
    const first = blocks.findIndex(({ type }) => type !== 'tool_result')
    const results = (first === -1 ? blocks : blocks.slice(0, first)).map((each) => each['tool_use_id'])
    const missing = ids.filter((id) => !results.includes(id))
    if (missing.length > 0) rejectUnanswered(previous?.index, missing)
    // "each tool_use must have a single result. Found multiple `tool_result` blocks with id: …"
    if (new Set(results).size < results.length)
      reject(
        `messages.${index}: each tool_use must have a single result. Found multiple \`tool_result\` blocks`,
      )
  }
  const last = turns.at(-1)
  const open = last?.blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id) ?? []
  if (open.length > 0) rejectUnanswered(last?.index, open)
}

function rejectUnanswered(index: number | undefined, ids: readonly unknown[]): never {
  return reject(
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  )
}

/** Rejects an invalid `system`. */
export function validateSystem(system: unknown): void {
  if (system === undefined) return
  if (typeof system === 'string') return validateText(system, 'system', 'system')
  if (!Array.isArray(system)) return reject('system: Input should be a valid list')
  for (const [index, block] of objectsIn(system).entries()) {
    const path = `system.${index}`
    if (block['type'] !== 'text') reject(`${path}.type: Input should be 'text'`)
    rejectExtraFields(block, ['type', 'text', 'cache_control', 'citations'], path)
    validateCacheControl(block, path)
    validateText(block['text'], 'system', path)
  }
}

/** Rejects invalid messages; returns the turns. `system` is a role since the mid-conversation system messages (`MessageParam`). */
export function validateConversation(value: unknown): readonly Turn[] {
  if (!Array.isArray(value)) return reject('messages: Field required')
  const messages = objectsIn(value)
  if (messages.length === 0) reject('messages: at least one message is required')
  for (const [index, message] of messages.entries()) {
    const path = `messages.${index}`
    const role = stringIn(message['role'])
    if (!['user', 'assistant', 'system'].includes(role))
      reject(`${path}.role: Input should be 'user', 'assistant' or 'system'`)
    rejectExtraFields(message, ['role', 'content'], path)
    const content = requireField(message, 'content', path)
    const isLast = index === messages.length - 1
    const isEmpty = Array.isArray(content) ? content.length === 0 : content === ''
    if (isEmpty && !(isLast && role === 'assistant'))
      reject(
        `${path}: all messages must have non-empty content except for the optional final assistant message`,
      )
    if (typeof content === 'string') {
      if (!isEmpty) validateText(content, 'messages', path)
    } else if (Array.isArray(content))
      for (const [place, block] of objectsIn(content).entries())
        validateBlock(block, `${path}.content.${place}`, role)
    else reject(`${path}.content: Input should be a valid list`)
  }
  if (messages[0]?.['role'] !== 'user') reject('messages: first message must use the "user" role')
  const turns = combineTurns(messages)
  validateCalls(turns)
  const last = turns.at(-1)?.role === 'assistant' ? stringIn(turns.at(-1)?.blocks.at(-1)?.['text']) : ''
  if (last !== last.trimEnd()) reject('messages: final assistant content cannot end with trailing whitespace')
  return turns
}
