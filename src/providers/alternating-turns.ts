/**
 * Conversations for providers that require alternating turns, the user's first, unique ids of calls, and texts that are
 * not blank (Anthropic, "Messages"; Amazon, "Converse"), or calls after a user's turn (Google, "Function calling"). The
 * OpenAI format requires none of this.
 */
import type { ChatMessage, Part } from './chat-messages.ts'
import type { ParsedChatRequest } from './chat-request.ts'
import type { Json } from './json-fields.ts'

/** The text of a user's turn that has none. */
const placeholder = '.'

export function isBlankText(part: Part): boolean {
  return part.kind === 'text' && part.text.trim() === ''
}

/** The stop sequences that are not blank, `undefined` if there are none. */
export function nonBlankStops({ stop }: ParsedChatRequest): readonly string[] | undefined {
  const stops = stop?.filter((each) => each.trim() !== '') ?? []
  return stops.length > 0 ? stops : undefined
}

/** A beginning of the answer must not end with white space. */
function withoutTrailingSpace(message: ChatMessage): ChatMessage {
  const parts = message.parts.filter((part) => !isBlankText(part))
  const last = parts.pop()
  if (message.role !== 'assistant' || last?.kind !== 'text') return message
  return { ...message, parts: [...parts, { ...last, text: last.text.trimEnd() }] }
}

/** Ids of calls must not repeat; some providers number the calls of each response anew. Results follow their calls. */
function withUniqueCallIds(messages: readonly ChatMessage[]): ChatMessage[] {
  const seen = new Set<string>()
  const suffixes = new Map<string, number>()
  const nextId = (id: string): string => {
    let unique = id
    let suffix = suffixes.get(id) ?? 1
    while (seen.has(unique)) unique = `${id}_${++suffix}`
    suffixes.set(id, suffix)
    seen.add(unique)
    return unique
  }
  let given = new Map<string, string>()
  return messages.map((message) => {
    if (message.role === 'tool')
      return { ...message, toolCallId: given.get(message.toolCallId) ?? message.toolCallId }
    if (message.toolCalls.length === 0) return message
    const toolCalls = message.toolCalls.map((call) => ({ ...call, id: nextId(call.id) }))
    given = new Map(message.toolCalls.map(({ id }, index) => [id, toolCalls[index]?.id ?? id]))
    return { ...message, toolCalls }
  })
}

/** Results follow their calls at once, and in the order of the calls: some providers pair them by position. */
function withOrderedResults(messages: readonly ChatMessage[]): ChatMessage[] {
  const ordered: ChatMessage[] = []
  let calls: string[] = []
  let run: ChatMessage[] = []
  const positionOf = ({ role, toolCallId }: ChatMessage): number => {
    if (role !== 'tool') return calls.length + 1
    const position = calls.indexOf(toolCallId)
    return position === -1 ? calls.length : position
  }
  const endRun = (): void => {
    if (run.length === 0) return
    ordered.push(...run.toSorted((left, right) => positionOf(left) - positionOf(right)))
    run = []
    calls = []
  }
  for (const message of messages) {
    if (message.role === 'assistant') {
      endRun()
      calls.push(...message.toolCalls.map(({ id }) => id))
      ordered.push(message)
    } else run.push(message)
  }
  endRun()
  return ordered
}

function userMessage(parts: readonly Part[]): ChatMessage {
  return {
    role: 'user',
    path: 'messages',
    parts,
    toolCalls: [],
    toolCallId: '',
    isError: false,
    reasoningDetails: [],
  }
}

/**
 * Merges adjacent messages of one side, apart from the parts of the system messages. If there are only system messages,
 * the last one is the user's. `endsWithUser`: the last turn must be the user's, too.
 */
export function alternateTurns(
  messages: readonly ChatMessage[],
  encodeContent: (message: ChatMessage) => Json[],
  { endsWithUser = false } = {},
) {
  const system = messages.filter(({ role }) => role === 'system')
  const spoken = withOrderedResults(withUniqueCallIds(messages.filter(({ role }) => role !== 'system')))
  if (spoken.length === 0) spoken.push(...system.splice(-1).map(({ parts }) => userMessage(parts)))
  spoken.push(...spoken.splice(-1).map(withoutTrailingSpace))
  const turns: { role: 'user' | 'assistant'; content: Json[] }[] = []
  for (const message of spoken) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = encodeContent(message)
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (role === 'user' || content.length > 0) turns.push({ role, content })
  }
  if (spoken.length > 0 && turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [] })
  if (endsWithUser && turns.at(-1)?.role === 'assistant') turns.push({ role: 'user', content: [] })
  const text: Part = { kind: 'text', text: placeholder, path: 'messages', cacheControl: undefined }
  for (const { content } of turns)
    if (content.length === 0) content.push(...encodeContent(userMessage([text])))
  return { systemParts: system.flatMap(({ parts }) => parts), turns }
}
