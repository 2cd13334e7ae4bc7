/**
 * The body of a request in Anthropic's format for an upstream that has this format: the caller's bytes with the model's
 * name changed and, if the account cannot pay for it, a lower maximum. Thinking of another provider is dropped, since
 * Anthropic would reject it.
 */
import { isForeignThinking, foreignSignatureMarker } from '../../formats/thinking-signature.ts'
import { getNumber, getObject, getObjects, type Json } from '../../providers/json-fields.ts'
import type { NativeEdits } from '../../providers/provider.ts'
import { patchBody, type ScannedRequest } from './request-body.ts'

type MessagesBody = ScannedRequest & { readonly maxOutputTokens: number }

/** Anthropic's minimum for a thinking budget. */
const minThinkingBudget = 1024

export function patchMessagesBody(body: MessagesBody, edits: NativeEdits): Buffer[] {
  const changes = new Map<string, string>()
  if (edits.model !== null) changes.set('model', JSON.stringify(edits.model))
  for (const [name, value] of Object.entries(edits.extra ?? {})) changes.set(name, JSON.stringify(value))
  const maximum = edits.maximumTokens
  if (maximum !== null && maximum < body.maxOutputTokens) {
    changes.set('max_tokens', String(maximum))
    const thinking = limitThinking(body, maximum)
    if (thinking) changes.set('thinking', JSON.stringify(thinking))
  }
  if (body.text.includes(foreignSignatureMarker))
    dropForeignThinking({ ...body.parsed(), ...edits.extra }, changes)
  return patchBody(body, changes, [...(edits.model === null ? ['model'] : []), ...(edits.dropped ?? [])])
}

/** A thinking budget is part of the maximum and must be smaller. */
function limitThinking(body: MessagesBody, maximum: number): Json | undefined {
  if (!body.text.includes('"budget_tokens"')) return undefined
  const thinking = getObject(body.parsed(), 'thinking')
  const budget = thinking && getNumber(thinking, 'budget_tokens')
  if (budget === undefined || budget < maximum) return undefined
  if (maximum <= minThinkingBudget) return { type: 'disabled' }
  return { ...thinking, budget_tokens: maximum - 1 }
}

function dropForeignThinking(request: Json, changes: Map<string, string>): void {
  const messages = getObjects(request, 'messages').map((message) => {
    const { content } = message
    if (!Array.isArray(content)) return message
    return { ...message, content: content.filter((block) => !isForeignThinking(block)) }
  })
  changes.set('messages', JSON.stringify(messages))
  // A turn that started without Anthropic's thinking cannot continue with it.
  const last = messages.at(-1)
  const isInTurn =
    last !== undefined && getObjects(last, 'content').some(({ type }) => type === 'tool_result')
  const isEnabled = getObject(request, 'thinking')?.['type'] === 'enabled'
  if (isInTurn && isEnabled) changes.set('thinking', '{"type":"disabled"}')
}
