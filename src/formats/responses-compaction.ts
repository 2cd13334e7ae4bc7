/**
 * Compaction in the Responses API: the model writes a summary of the conversation, which the caller keeps as an item of
 * type `compaction`. Its `encrypted_content` is the summary, sealed; when the item comes back, it becomes a message that
 * every provider can read.
 */
import { apiError, type ApiError } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import {
  getObject,
  getObjects,
  getString,
  isObject,
  omitUndefined,
  type Json,
} from '../providers/json-fields.ts'
import { parseUsageOf } from '../providers/usage.ts'
import { extractPieces } from './content-pieces.ts'
import { callIdOf, encodeCalled, isCall, isCallResult, isHostedCall, readResult } from './responses-calls.ts'
import { endingOf, responseHead, serializeResponsesUsage, type ResponsesContext } from './responses-object.ts'
import { OutputItems, type OutputListener } from './responses-output.ts'

/** Other than that of foreign reasoning (thinking-signature.ts), which is dropped where it cannot be read. */
export const compactionPrefix = 'sluice-compaction.'

/** The prefix as it occurs in a request's bytes. */
export const compactionMarker = `"${compactionPrefix}`

/** The type of the item that asks for a compaction; it must be the last one of the input. */
export const triggerType = 'compaction_trigger' as const

export const summaryPrompt = `Write a summary of this conversation now. The conversation will go on without the messages, tool calls and results above: only what the user wrote is kept, and your summary.

Include:
- the task, with every requirement, preference and rule that still applies;
- what has been done, and the decisions with their reasons;
- what was found out, with the exact names, paths, ids, commands, values and error messages that are still needed;
- the present state, and the next steps in order.

Write only the summary, in the language of the conversation. Do not continue the task, and call no tools.`

const summaryHeading = 'This is a summary of the earlier conversation:'

/** What a summary needs of a request; tools and formats of responses would lead the model away from it. */
const keptFields = [
  'model',
  'instructions',
  'reasoning',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'service_tier',
]
/** Items that say nothing without the tools, or that only their provider can read. */
const droppedTypes = new Set<unknown>([
  'reasoning',
  'additional_tools',
  'tool_search_call',
  'tool_search_output',
])

function textMessage(role: 'user' | 'assistant', text: string): Json {
  return { type: 'message', role, content: text }
}

/** The items of the conversation. */
function itemsOf({ input }: Json): readonly unknown[] {
  if (typeof input === 'string') return [textMessage('user', input)]
  if (!Array.isArray(input)) return []
  return input.filter((item: unknown) => !(isObject(item) && item['type'] === triggerType))
}

/** The request for the summary in the Responses format, with the conversation's items as `describe` returns them. */
function requestSummary(request: Json, describe: (items: readonly unknown[]) => readonly unknown[]): Json {
  const kept = Object.fromEntries(keptFields.map((name) => [name, request[name]]))
  return omitUndefined({
    ...kept,
    input: [...describe(itemsOf(request)), textMessage('user', summaryPrompt)],
  })
}

/** A call or its result as a message: some providers take neither without the definitions of the tools. */
function describeItem(item: unknown): unknown {
  if (!isObject(item)) return item
  const type = getString(item, 'type') ?? ''
  const id = callIdOf(item) ?? ''
  if (isCall(type)) return textMessage('assistant', `[Tool call ${id}: ${describeCall(item, type)}`)
  if (!isCallResult(type)) return item
  const output = readResult(item, type)
  const heading = { type: 'input_text', text: `[Result of tool call ${id}]` }
  const parts = Array.isArray(output) ? (output as unknown[]) : [{ type: 'input_text', text: output }]
  return { type: 'message', role: 'user', content: [heading, ...parts] }
}

/** The name of the tool, and what the model wrote to it. */
function describeCall(item: Json, type: string): string {
  const called = encodeCalled(item, type)
  const ownName = [getString(item, 'namespace'), getString(item, 'name')].filter(Boolean).join('.')
  const name = ownName || (getString(called, 'name') ?? '')
  return `${name}]\n${getString(item, 'input') ?? getString(called, 'arguments') ?? ''}`
}

function isDropped(item: unknown): boolean {
  if (!isObject(item)) return false
  const type = getString(item, 'type') ?? ''
  return droppedTypes.has(type) || isHostedCall(item, type)
}

/** The request for the summary, for an upstream that does not speak the Responses API. */
export function translatableSummaryRequest(request: Json): Json {
  return requestSummary(request, (items) => items.filter((item) => !isDropped(item)).map(describeItem))
}

/** The request for the summary, for an upstream that speaks the Responses API. */
export function nativeSummaryRequest(request: Json): Json {
  const { previous_response_id: previous } = request
  return omitUndefined({ ...requestSummary(request, (items) => items), previous_response_id: previous })
}

/** The user's messages, which remain beside the summary. */
function userMessages(request: Json): Json[] {
  return itemsOf(request).flatMap((item) => {
    if (!isObject(item) || item['role'] !== 'user' || (item['type'] ?? 'message') !== 'message') return []
    const { content, id = newId('msg') } = item
    const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content
    return [{ id, type: 'message', status: 'completed', role: 'user', content: parts }]
  })
}

/**
 * The input with the summaries of its compactions as messages; `null`: it has none. `open` returns `null` for what this
 * account has not been given. Throws `invalid_encrypted_content` then, with the item in `param`.
 */
export function openCompactions(
  input: unknown,
  open: (sealed: string) => string | null,
): readonly unknown[] | null {
  if (!Array.isArray(input)) return null
  let hasOpened = false
  const opened = input.map((item: unknown, index) => {
    const content = isObject(item) ? getString(item, 'encrypted_content') : undefined
    if (content?.startsWith(compactionPrefix) !== true) return item
    const summary = open(content.slice(compactionPrefix.length))
    if (summary === null) throw apiError('invalid_encrypted_content', { param: `input[${index}]` })
    hasOpened = true
    return { type: 'message', role: 'developer', content: `${summaryHeading}\n\n${summary}` }
  })
  return hasOpened ? opened : null
}

/** Output that is collected into one item of type `compaction`. */
class CompactionOutput {
  readonly #seal: (summary: string) => string
  readonly #listener: OutputListener
  #summary = ''
  /** A summary that is missing or cut would lose the conversation. */
  failure: ApiError | null = null

  constructor(seal: (summary: string) => string, listener: OutputListener) {
    this.#seal = seal
    this.#listener = listener
  }

  addDelta(delta: Json): void {
    for (const { kind, text } of extractPieces(delta)) if (kind === 'text') this.#summary += text
  }

  addMessage(message: Json): void {
    this.addDelta(message)
  }

  finish(status: 'completed' | 'incomplete'): void {
    const summary = this.#summary.trim()
    if (status === 'incomplete' || summary === '') {
      this.failure = apiError('compaction_failed')
      return
    }
    const content = compactionPrefix + this.#seal(summary)
    const item = { id: newId('cmp'), type: 'compaction', encrypted_content: content }
    this.#listener.onEvent('response.output_item.added', { output_index: 0, item })
    this.#listener.onEvent('response.output_item.done', { output_index: 0, item })
    this.#listener.onItem(0, item)
  }
}

type ResponseOutput = Pick<OutputItems, 'addDelta' | 'addMessage' | 'finish'> & {
  /** What the caller gets instead of a response that cannot be used; it is charged all the same. */
  readonly failure?: ApiError | null
}

/** The output of a response, or of a compaction. */
export function createOutput(context: ResponsesContext, listener: OutputListener): ResponseOutput {
  const { seal } = context
  return seal ? new CompactionOutput(seal, listener) : new OutputItems(context, listener)
}

/** Reads the output of a non-streaming response. Throws an `ApiError` if it is of no use. */
export function collectOutput(choice: Json, context: ResponsesContext): Json[] {
  const items: Json[] = []
  const output = createOutput(context, {
    onEvent: () => undefined,
    onItem: (index, item) => (items[index] = item),
  })
  output.addMessage(getObject(choice, 'message') ?? {})
  const { status } = endingOf(getString(choice, 'finish_reason'), context)
  output.finish(status === 'completed' ? 'completed' : 'incomplete')
  if (output.failure) throw output.failure
  return items
}

/** Translates a non-streaming response in the OpenAI format into the object that `/v1/responses/compact` returns. */
export function translateToCompaction(response: Json, context: ResponsesContext): Json {
  const [choice = {}] = getObjects(response, 'choices')
  const { request } = context
  const compaction = collectOutput(choice, context)
  const { id, createdAt } = responseHead(response, request)
  const usage = parseUsageOf(response)
  return {
    id,
    object: 'response.compaction',
    created_at: createdAt,
    output: [...userMessages(request), ...compaction],
    usage: usage && serializeResponsesUsage(usage),
  }
}
