/**
 * Estimates the input tokens of a request of the Responses API: the instructions, every text, call and result in the
 * input, the definitions of tools and of the response format, and embedded data by its kind. Roles, ids and the format's
 * own keywords do not count.
 */
import { getObject, getString, isObject, type Json } from '../../providers/json-fields.ts'
import { embeddedFields, embeddedPrefixLength, embeddedTokens } from './embedded-data.ts'
import { TokenCounter } from './token-estimate.ts'

const textFields = ['text', 'refusal', 'name', 'arguments', 'input', 'filename', 'stdout', 'stderr']
/** Of searches among tools, of items that add tools, and of calls of OpenAI's own tools. */
const definitionFields = ['arguments', 'tools', 'action', 'actions', 'operation']
const contentFields = ['content', 'output', 'summary']

export function estimateResponsesInput(request: Json): number {
  const count = new TokenCounter()
  count.add(getString(request, 'instructions') ?? '')
  addContent(count, request['input'])
  addDefinition(count, request['tools'])
  addDefinition(count, getObject(request, 'text')?.['format'])
  return count.tokens
}

function addDefinition(count: TokenCounter, definition: unknown): void {
  if (typeof definition === 'object' && definition !== null) count.add(JSON.stringify(definition))
}

/** A text, or items or parts, which have fields of both kinds. */
function addContent(count: TokenCounter, content: unknown): void {
  if (typeof content === 'string') count.add(content)
  // A screenshot.
  if (isObject(content)) addPart(count, content)
  if (!Array.isArray(content)) return
  for (const part of content) if (isObject(part)) addPart(count, part)
}

function addPart(count: TokenCounter, part: Json): void {
  for (const field of textFields) count.add(getString(part, field) ?? '')
  for (const field of definitionFields) addDefinition(count, part[field])
  for (const field of contentFields) addContent(count, part[field])
  for (const holder of [part, getObject(part, 'input_audio') ?? {}]) addEmbedded(count, holder)
}

function addEmbedded(count: TokenCounter, holder: Json): void {
  for (const [name, field] of embeddedFields) {
    const value = getString(holder, name)
    if (value === undefined) continue
    const head = value.slice(0, embeddedPrefixLength)
    count.addTokens(embeddedTokens(field, head, value.length, holder['detail']))
  }
}
