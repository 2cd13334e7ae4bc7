/** Answers of the common format in Anthropic's: a whole one, and what both kinds have in common. */
import { newId } from '../lib/ids.ts'
import { objectIn, objectsIn, textIn, type Json, entryOf } from '../providers/json-fields.ts'
import { usageOf } from '../providers/usage.ts'
import { callIdOf } from './call-ids.ts'
import { carried, withoutWords } from './thinking-signature.ts'
import { usageOfMessage, type Stop } from './messages-events.ts'

/** What the translation of an answer has to know. */
export interface AnswerTerms {
  /** Whose answer it is. */
  readonly provider: string
  /** The caller's stop sequences. */
  readonly stops: readonly string[]
}

const reasons: Readonly<Record<string, string>> = {
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
}
/** Words of Anthropic's that other providers use as they are. */
const shared = new Set(['stop_sequence', 'pause_turn', 'model_context_window_exceeded'])

/** Why a choice ended. `hasCalls`: some providers tell a plain stop after calls of tools. */
export function stopOf(choice: Json, hasCalls: boolean, stops: readonly string[]): Stop {
  const finish = textIn(choice, 'finish_reason') ?? 'stop'
  const native = textIn(choice, 'native_finish_reason') ?? ''
  // vLLM tells which of the caller's words it met.
  const word = textIn(choice, 'stop_reason')
  if (finish === 'stop' && word !== undefined && stops.includes(word)) {
    return { reason: 'stop_sequence', sequence: word }
  }
  if (shared.has(native)) return { reason: native, sequence: null }
  const reason = entryOf(reasons, finish) ?? (hasCalls ? 'tool_use' : 'end_turn')
  return { reason, sequence: null }
}

/** A piece of an answer, in the order in which it was said. */
export interface Piece {
  readonly kind: 'text' | 'thinking'
  readonly text: string
}

/** The words of a message or a delta. Mistral writes its thinking as a part of the content. */
export function piecesOf(said: Json): Piece[] {
  const pieces: Piece[] = []
  const add = (kind: Piece['kind'], text: string | undefined): void => {
    if (text !== undefined && text !== '') pieces.push({ kind, text })
  }
  add('thinking', textIn(said, 'reasoning_content') ?? textIn(said, 'reasoning'))
  add('text', textIn(said, 'content'))
  for (const part of objectsIn(said, 'content')) {
    if (part['type'] === 'text') add('text', textIn(part, 'text'))
    for (const thought of objectsIn(part, 'thinking')) add('thinking', textIn(thought, 'text'))
  }
  add('text', textIn(said, 'refusal'))
  return pieces
}

/** Thinking that only its maker can read, or that belongs to something else than words. */
export function isHidden(detail: Json): boolean {
  return detail['type'] !== 'reasoning.text' && detail['type'] !== 'reasoning.summary'
}

export function redactedBlock(provider: string, detail: Json): Json {
  return { type: 'redacted_thinking', data: carried(provider, detail) }
}

function thinkingBlocks(words: string, details: readonly Json[], provider: string): Json[] {
  const told = details.filter((detail) => !isHidden(detail))
  if (told.length === 0) {
    return words === '' ? [] : [{ type: 'thinking', thinking: words, signature: carried(provider) }]
  }
  return told.map((detail) => ({
    type: 'thinking',
    thinking: textIn(detail, 'text') ?? textIn(detail, 'summary') ?? '',
    signature: carried(provider, withoutWords(detail)),
  }))
}

/** A tool's input is JSON; what a model wrote that is none stays readable. */
function inputOf(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return { input: text }
  }
}

function contentOf(message: Json, provider: string): Json[] {
  const details = objectsIn(message, 'reasoning_details')
  const calls = objectsIn(message, 'tool_calls')
  const ids = new Set(calls.map((call) => call['id']))
  const ofCall = (detail: Json): boolean => detail['id'] !== undefined && ids.has(detail['id'])
  const pieces = piecesOf(message)
  const words = (kind: Piece['kind']): string =>
    pieces.map((piece) => (piece.kind === kind ? piece.text : '')).join('')
  const hidden = details.filter((detail) => isHidden(detail) && !ofCall(detail))
  const text = words('text')
  return [
    ...thinkingBlocks(words('thinking'), details, provider),
    ...hidden.map((detail) => redactedBlock(provider, detail)),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.flatMap((call) => {
      const called = objectIn(call, 'function') ?? {}
      const id = textIn(call, 'id') || newId('toolu')
      const own = details.filter((detail) => isHidden(detail) && detail['id'] === id)
      const input = inputOf(textIn(called, 'arguments') ?? '')
      const use = { type: 'tool_use', id: callIdOf(id), name: textIn(called, 'name') ?? '', input }
      return [...own.map((detail) => redactedBlock(provider, detail)), use]
    }),
  ]
}

/** What no provider has counted is told as nothing. */
const nothing = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** A whole answer. */
export function messageOfChat(answer: Json, { provider, stops }: AnswerTerms): Json {
  const [choice = {}] = objectsIn(answer, 'choices')
  const message = objectIn(choice, 'message') ?? {}
  const { reason, sequence } = stopOf(choice, objectsIn(message, 'tool_calls').length > 0, stops)
  return {
    id: textIn(answer, 'id') ?? newId('msg'),
    type: 'message',
    role: 'assistant',
    model: textIn(answer, 'model') ?? '',
    content: contentOf(message, provider),
    stop_reason: reason,
    stop_sequence: sequence,
    usage: usageOfMessage(usageOf(answer['usage']) ?? nothing),
  }
}
