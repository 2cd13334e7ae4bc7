/**
 * Translates the input of a Responses request into messages of the OpenAI format. Reasoning, messages and tool calls of
 * one turn, which are items of their own, become one assistant message; the results follow in the order of their calls.
 */
import { getObjects, getString, isObject, omitUndefined, type Json } from '../providers/json-fields.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import { encodeContent } from './content-pieces.ts'
import { fitCallId, type ProviderCapabilities } from './provider-capabilities.ts'
import { translateParts } from './responses-content.ts'
import { callIdOf, encodeCalled, isCall, isCallResult, isHostedCall, readResult } from './responses-calls.ts'
import { restoreThinking, type ReturnedThinking } from './thinking-signature.ts'
import { encodeToolResult } from './tool-results.ts'

const paragraph = '\n\n'

interface LocatedItem {
  readonly item: Json
  readonly type: string
  readonly path: string
}

/** One turn of the model, as far as its items are adjacent. */
interface AssistantTurn {
  readonly texts: string[]
  readonly thinking: ReturnedThinking[]
  readonly calls: LocatedItem[]
  /** A result has followed: what the model wrote after it is another turn. */
  isAnswered: boolean
}

/** Tools that are parsed with the others. */
const toolsType = 'additional_tools'

function parseItems(input: unknown): LocatedItem[] {
  if (typeof input === 'string')
    return [{ item: { role: 'user', content: input }, type: 'message', path: 'input' }]
  if (!Array.isArray(input)) throw new UnsupportedFeatureError('input', 'must be a string or an array')
  return input.map((item: unknown, index) => {
    const path = `input[${index}]`
    if (!isObject(item)) throw new UnsupportedFeatureError(path, 'must be an object')
    return { item, path, type: getString(item, 'type') ?? 'message' }
  })
}

function byCallId(
  items: readonly LocatedItem[],
  hasType: (type: string) => boolean,
): Map<string, LocatedItem> {
  const found = new Map<string, LocatedItem>()
  for (const located of items) {
    if (!hasType(located.type) || isHostedCall(located.item, located.type)) continue
    const id = callIdOf(located.item)
    const param = `${located.path}.call_id`
    if (id === undefined) throw new UnsupportedFeatureError(param, 'must be a string')
    if (found.has(id)) throw new UnsupportedFeatureError(param, 'must occur only once')
    found.set(id, located)
  }
  return found
}

/** The results by `call_id`. Throws for a call without a result, or a result without a call: no provider takes them. */
function pairResults(items: readonly LocatedItem[]): ReadonlyMap<string, LocatedItem> {
  const calls = byCallId(items, isCall)
  const results = byCallId(items, isCallResult)
  for (const [id, { path }] of calls)
    if (!results.has(id))
      throw new UnsupportedFeatureError(`${path}.call_id`, 'the output of this call is missing')
  for (const [id, { path }] of results)
    if (!calls.has(id))
      throw new UnsupportedFeatureError(`${path}.call_id`, 'the call with this id is missing')
  return results
}

class Conversation {
  readonly messages: Json[] = []
  readonly #capabilities: ProviderCapabilities
  readonly #results: ReadonlyMap<string, LocatedItem>
  #turn: AssistantTurn | null = null

  constructor(results: ReadonlyMap<string, LocatedItem>, capabilities: ProviderCapabilities) {
    this.#results = results
    this.#capabilities = capabilities
  }

  add(located: LocatedItem): void {
    const { item, type, path } = located
    if (type === toolsType || isHostedCall(item, type)) return
    if (isCallResult(type)) {
      if (this.#turn) this.#turn.isAnswered = true
    } else if (isCall(type)) this.#openTurn().calls.push(located)
    else if (type === 'agent_message') this.#addAgentMessage(item, path)
    else if (type === 'reasoning') this.#openTurn().thinking.push(parseReasoning(item))
    else if (type === 'message') this.#addMessage(item, path)
    else throw new UnsupportedFeatureError(`${path}.type`, `${type} is not supported by this provider`)
  }

  finish(): Json[] {
    this.#endTurn()
    return this.messages
  }

  #openTurn(): AssistantTurn {
    if (this.#turn?.isAnswered) this.#endTurn()
    return (this.#turn ??= { texts: [], thinking: [], calls: [], isAnswered: false })
  }

  #addMessage(item: Json, path: string): void {
    const parts = translateParts(item['content'], `${path}.content`, this.#capabilities)
    switch (item['role']) {
      case 'assistant': {
        const text = encodeContent(parts, '')
        if (typeof text !== 'string')
          throw new UnsupportedFeatureError(`${path}.content`, 'must be text in a message of the assistant')
        this.#openTurn().texts.push(text)
        return
      }
      case 'user':
        return this.#push({ role: 'user', content: encodeContent(parts, paragraph) })
      case 'system':
      case 'developer':
        return this.#push({ role: 'system', content: encodeContent(parts, paragraph) })
      default:
        throw new UnsupportedFeatureError(
          `${path}.role`,
          'must be "user", "assistant", "system" or "developer"',
        )
    }
  }

  /** What another agent wrote. What only its provider can read of it is left out. */
  #addAgentMessage(item: Json, path: string): void {
    const { content } = item
    const readable = Array.isArray(content) ? content.filter((part) => !isEncryptedPart(part)) : content
    const parts = translateParts(readable, `${path}.content`, this.#capabilities)
    if (parts.length > 0) this.#push({ role: 'user', content: encodeContent(parts, paragraph) })
  }

  #push(message: Json): void {
    this.#endTurn()
    this.messages.push(message)
  }

  #endTurn(): void {
    const turn = this.#turn
    this.#turn = null
    const text = turn?.texts.join(paragraph) ?? ''
    // Reasoning alone is no message.
    if (!turn || (text === '' && turn.calls.length === 0)) return
    const calls = turn.calls.map(({ item, type }) => encodeCall(item, type, this.#capabilities))
    this.messages.push(
      omitUndefined({
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        ...restoreThinking(turn.thinking, this.#capabilities),
        tool_calls: calls.length > 0 ? calls : undefined,
      }),
    )
    this.#addResults(turn.calls)
  }

  #addResults(calls: readonly LocatedItem[]): void {
    const images: Json[] = []
    for (const { item: call } of calls) {
      const id = callIdOf(call) ?? ''
      const { item, type, path } = this.#results.get(id) as LocatedItem
      const parts = translateParts(readResult(item, type), `${path}.output`, this.#capabilities)
      const result = encodeToolResult(fitCallId(id, this.#capabilities), parts)
      this.messages.push(result.message)
      images.push(...result.images)
    }
    if (images.length > 0) this.messages.push({ role: 'user', content: images })
  }
}

function isEncryptedPart(part: unknown): boolean {
  return isObject(part) && part['type'] === 'encrypted_content'
}

function parseReasoning(item: Json): ReturnedThinking {
  const texts = getObjects(item, 'summary').map((part) => getString(part, 'text') ?? '')
  return { text: texts.join(paragraph), signature: item['encrypted_content'] }
}

function encodeCall(item: Json, type: string, capabilities: ProviderCapabilities): Json {
  const id = fitCallId(callIdOf(item) ?? '', capabilities)
  return { id, type: 'function', function: encodeCalled(item, type) }
}

/** Some chat templates take a system message only at the beginning: those that come first are joined. */
function joinLeadingSystem(messages: readonly Json[]): Json[] {
  const end = messages.findIndex(({ role, content }) => role !== 'system' || typeof content !== 'string')
  const count = end === -1 ? messages.length : end
  if (count < 2) return [...messages]
  const content = messages.slice(0, count).map((message) => getString(message, 'content'))
  return [{ role: 'system', content: content.join(paragraph) }, ...messages.slice(count)]
}

/** Translates `instructions` and `input`. Throws `UnsupportedFeatureError` naming the field. */
export function translateInput(request: Json, capabilities: ProviderCapabilities): Json[] {
  const instructions = request['instructions'] ?? ''
  if (typeof instructions !== 'string') throw new UnsupportedFeatureError('instructions', 'must be a string')
  const items = parseItems(request['input'])
  const conversation = new Conversation(pairResults(items), capabilities)
  if (instructions !== '') conversation.messages.push({ role: 'system', content: instructions })
  for (const located of items) conversation.add(located)
  return joinLeadingSystem(conversation.finish())
}
