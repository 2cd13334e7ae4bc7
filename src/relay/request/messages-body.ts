/**
 * A request of Anthropic's format for an upstream of that dialect: the caller's bytes with the model's name changed and,
 * where money requires it, the maximum lowered. Thinking that another provider has made is left out, for Anthropic would
 * refuse it.
 */
import { isForeignThinking, markInBody } from '../../formats/thinking-signature.ts'
import type { JsonMember } from '../../lib/json/json-scanner.ts'
import { numberIn, objectIn, objectsIn, type Json } from '../../providers/json-fields.ts'
import type { OwnEdits } from '../../providers/provider.ts'
import { splice } from './request-body.ts'

export interface AskedMessages {
  readonly text: Buffer
  readonly members: readonly JsonMember[]
  readonly maxTokens: number
  parsed(): Json
}

/** Anthropic's least budget of thinking. */
const leastBudget = 1024

export function ownMessages(asked: AskedMessages, edits: OwnEdits): Buffer[] {
  const { text, members, maxTokens } = asked
  const changes = new Map<string, string>()
  if (edits.model !== null) changes.set('model', JSON.stringify(edits.model))
  for (const [name, value] of Object.entries(edits.added ?? {})) changes.set(name, JSON.stringify(value))
  const maximum = edits.maximumTokens
  if (maximum !== null && maximum < maxTokens) {
    changes.set('max_tokens', String(maximum))
    const thinking = thinkingWithin(asked, maximum)
    if (thinking) changes.set('thinking', JSON.stringify(thinking))
  }
  if (text.includes(markInBody)) leaveOutForeign(asked.parsed(), changes)
  return splice(text, members, changes, edits.model === null ? 'model' : undefined)
}

/** A budget of thinking is part of the maximum, and has to be smaller. */
function thinkingWithin(asked: AskedMessages, maximum: number): Json | undefined {
  if (!asked.text.includes('"budget_tokens"')) return undefined
  const thinking = objectIn(asked.parsed(), 'thinking')
  const budget = thinking && numberIn(thinking, 'budget_tokens')
  if (budget === undefined || budget < maximum) return undefined
  if (maximum <= leastBudget) return { type: 'disabled' }
  return { ...thinking, budget_tokens: maximum - 1 }
}

function leaveOutForeign(request: Json, changes: Map<string, string>): void {
  const messages = objectsIn(request, 'messages').map((message) => {
    const { content } = message
    if (!Array.isArray(content)) return message
    return { ...message, content: content.filter((block) => !isForeignThinking(block)) }
  })
  changes.set('messages', JSON.stringify(messages))
  // A turn that began without thinking of Anthropic's cannot go on with it.
  const last = messages.at(-1)
  const isInTurn = last !== undefined && objectsIn(last, 'content').some(({ type }) => type === 'tool_result')
  const isEnabled = objectIn(request, 'thinking')?.['type'] === 'enabled'
  if (isInTurn && isEnabled) changes.set('thinking', '{"type":"disabled"}')
}
