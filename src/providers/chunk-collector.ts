/**
 * Collects the chunks of a stream in the OpenAI format into the non-streaming response to which they add up: texts are
 * joined, calls and reasoning details are joined by their index, everything else is kept as it was last sent (OpenAI, "The
 * chat completion chunk object").
 */
import { getObject, isObject, type Json } from './json-fields.ts'
import { CallPieces, encodeArguments } from './tool-call-pieces.ts'
import { mergeUsage } from './usage-counts.ts'

type Draft = Record<string, unknown>

interface Result {
  readonly message: Draft
  readonly calls: CallPieces
  readonly fields: Draft
}

/** Texts that are sent as a whole, by some upstreams in every piece. */
const wholeTexts = new Set(['role', 'id', 'type', 'name', 'format', 'signature'])
/** Would set the prototype instead of a member. */
const prototypeKey = '__proto__'
/** Calls of the provider's own tools are part of streams alone, in which they are metered. */
const meteredOnly = 'server_tool_calls'

/** Parts of a message that arrive in pieces without an index (Mistral, "Reasoning"). */
const joinedParts: readonly unknown[] = ['text', 'thinking']

/** The piece of a list that this one continues. */
function findBegun(list: readonly unknown[], { index, type }: Json): Draft | undefined {
  const isSame = (other: unknown): other is Draft =>
    isObject(other) && other['index'] === index && (type === undefined || other['type'] === type)
  if (typeof index === 'number') return list.findLast(isSame)
  return joinedParts.includes(type) ? list.slice(-1).find(isSame) : undefined
}

function addPieces(list: unknown[], pieces: readonly unknown[]): unknown[] {
  for (const piece of pieces) {
    if (isObject(piece)) {
      const begun = findBegun(list, piece)
      if (begun) addFields(begun, piece)
      else list.push(addFields({}, piece))
    } else list.push(piece)
  }
  return list
}

/** A text as the only part of a list. */
function partsOf(text: unknown): unknown[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []
}

/** Adds a delta to what has been received. */
function addFields(draft: Draft, delta: Json): Draft {
  for (const key of Object.keys(delta)) {
    const value = delta[key]
    const known = draft[key]
    if (key === prototypeKey || (value ?? null) === null) continue
    if (typeof value === 'string' && typeof known === 'string') {
      if (!wholeTexts.has(key)) draft[key] = known + value
      else if (value !== '') draft[key] = value
    } else if (Array.isArray(value)) {
      draft[key] = addPieces(Array.isArray(known) ? (known as unknown[]) : partsOf(known), value)
    } else if (typeof value === 'string' && Array.isArray(known)) {
      addPieces(known, partsOf(value))
    } else if (isObject(value)) {
      draft[key] = addFields(isObject(known) ? known : {}, value)
    } else draft[key] = value
  }
  return draft
}

function withTextArguments(piece: Json): Json {
  const called = getObject(piece, 'function')
  const input = called?.['arguments'] ?? ''
  return typeof input === 'string'
    ? piece
    : { ...piece, function: { ...called, arguments: encodeArguments(input) } }
}

/** Adds pieces of tool calls to the calls to which they belong, by their numbers. */
function addCalls({ message, calls }: Result, pieces: unknown): void {
  if (!Array.isArray(pieces)) return
  const list = (message['tool_calls'] ??= []) as Draft[]
  for (const [position, piece] of pieces.entries()) {
    if (!isObject(piece)) continue
    const number = calls.numberOf(piece, position)
    // A call of a complete response has no index.
    const { index: _position, ...fields } = piece
    list[number] = addFields(list[number] ?? {}, withTextArguments(fields))
  }
}

function completeMessage({ tool_calls: calls, [meteredOnly]: _metered, ...message }: Draft): Json {
  const text = message['content'] ?? ''
  const hasCalls = calls !== undefined || message['function_call'] !== undefined
  return {
    role: 'assistant',
    ...message,
    content: text === '' && hasCalls ? null : text,
    refusal: message['refusal'] ?? null,
    ...(calls === undefined ? {} : { tool_calls: calls }),
  }
}

export class ChunkCollector {
  readonly #fields: Draft = {}
  readonly #choices = new Map<number, Result>()

  add(chunk: Json): void {
    for (const key of Object.keys(chunk)) {
      const value = chunk[key]
      if (key === 'choices' || key === prototypeKey) continue
      if (key === 'usage') this.#addUsage(value)
      // Some upstreams leave the id or the model of a chunk empty.
      else if ((value ?? '') !== '') this.#fields[key] = value
    }
    const { choices } = chunk
    if (Array.isArray(choices)) for (const choice of choices) if (isObject(choice)) this.#addChoice(choice)
  }

  #addUsage(value: unknown): void {
    const { usage } = this.#fields
    const counts = mergeUsage(isObject(usage) ? usage : undefined, isObject(value) ? value : undefined)
    if (counts) this.#fields['usage'] = counts
  }

  #addChoice({ index: number, delta, text, logprobs, ...others }: Json): void {
    const index = typeof number === 'number' ? number : 0
    let choice = this.#choices.get(index)
    if (!choice)
      this.#choices.set(
        index,
        (choice = { message: {}, calls: new CallPieces(), fields: { finish_reason: null } }),
      )
    if (isObject(delta)) {
      const { tool_calls: calls, ...written } = delta
      addFields(choice.message, written)
      addCalls(choice, calls)
    }
    if (typeof text === 'string') addFields(choice.fields, { text })
    if (isObject(logprobs)) addFields(choice.fields, { logprobs })
    for (const key of Object.keys(others)) {
      if (key !== prototypeKey && (others[key] ?? null) !== null) choice.fields[key] = others[key]
    }
  }

  /** The response to which the chunks add up. */
  completion(): Json {
    const isText = this.#fields['object'] === 'text_completion'
    const choices = Array.from(this.#choices, ([index, { message, fields }]) => {
      const written = isText ? {} : { message: completeMessage(message) }
      return { index, ...written, logprobs: null, ...fields }
    })
    return {
      ...this.#fields,
      object: isText ? 'text_completion' : 'chat.completion',
      choices: choices.toSorted((left, right) => left.index - right.index),
    }
  }
}
