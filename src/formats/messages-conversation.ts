/** The conversation of a request of Anthropic's format as messages of the common one. */
import { present, textIn, type Json } from '../providers/json-fields.ts'
import { isObject } from '../providers/usage.ts'
import { originalCallId, shortCallId } from './call-ids.ts'
import { carriedIn, detailWith } from './thinking-signature.ts'
import { blocksIn, contentOf, partsOf, wrong, type Placed } from './messages-blocks.ts'
import type { Taste } from './provider-tastes.ts'

const paragraph = '\n\n'

/** A tool's answer. Images cannot stand there: they follow, with a word on whose they are. */
function toolAnswer({ block, at }: Placed, taste: Taste): { message: Json; images: Json[] } {
  const parts = blocksIn(block['content'], `${at}.content`).flatMap((placed) => partsOf(placed, taste))
  const id = callId(textIn(block, 'tool_use_id'), taste)
  const images = parts.filter((part) => part['type'] !== 'text')
  const words = parts.map((part) => textIn(part, 'text') ?? '').filter((text) => text !== '')
  const said = words.join(paragraph)
  const content = block['is_error'] === true ? `Error: ${said}` : said
  const title = { type: 'text', text: `What the tool answered to call ${id}:` }
  return {
    message: { role: 'tool', tool_call_id: id, content },
    images: images.length > 0 ? [title, ...images] : [],
  }
}

/** Answers of tools come first, as their calls came last. */
function userMessages(placed: readonly Placed[], taste: Taste): Json[] {
  const isAnswer = ({ block }: Placed): boolean => block['type'] === 'tool_result'
  const answers = placed.filter(isAnswer).map((each) => toolAnswer(each, taste))
  const rest = placed.filter((each) => !isAnswer(each)).flatMap((each) => partsOf(each, taste))
  const parts = [...answers.flatMap(({ images }) => images), ...rest]
  const said = parts.length > 0 ? [{ role: 'user', content: contentOf(parts, paragraph) }] : []
  return [...answers.map(({ message }) => message), ...said]
}

function callId(id = '', { shortCallIds }: Taste): string {
  const original = originalCallId(id)
  return shortCallIds ? shortCallId(original) : original
}

function toolCallOf({ block }: Placed, taste: Taste): Json {
  const called = { name: textIn(block, 'name') ?? '', arguments: JSON.stringify(block['input'] ?? {}) }
  return { id: callId(textIn(block, 'id'), taste), type: 'function', function: called }
}

/** Thinking goes back to whoever made it; what Anthropic signed is dropped, for no other provider could read it. */
function thinkingOf(placed: readonly Placed[], taste: Taste): Json {
  let words = ''
  const details: Json[] = []
  for (const { block } of placed) {
    const isRedacted = block['type'] === 'redacted_thinking'
    const made = carriedIn(isRedacted ? block['data'] : block['signature'])
    if (!made || (made.provider !== taste.provider && !taste.isDialect)) continue
    const thinking = textIn(block, 'thinking') ?? ''
    words += thinking
    if (made.detail) details.push(isRedacted ? made.detail : detailWith(thinking, made.detail))
  }
  return {
    reasoning_content: words === '' || taste.isDialect ? undefined : words,
    reasoning_details: details.length > 0 ? details : undefined,
  }
}

function assistantMessage(placed: readonly Placed[], taste: Taste): Json {
  const isThinking = ({ block }: Placed): boolean =>
    block['type'] === 'thinking' || block['type'] === 'redacted_thinking'
  const calls = placed.filter(({ block }) => block['type'] === 'tool_use')
  const said = placed.filter((each) => !isThinking(each) && each.block['type'] !== 'tool_use')
  const parts = said.flatMap((each) => partsOf(each, taste))
  return present({
    role: 'assistant',
    content: parts.length === 0 && calls.length > 0 ? null : contentOf(parts, ''),
    ...thinkingOf(placed.filter(isThinking), taste),
    tool_calls: calls.length > 0 ? calls.map((call) => toolCallOf(call, taste)) : undefined,
  })
}

/** Throws `Inexpressible` for what cannot be read or said, naming it. */
export function messagesOf(request: Json, taste: Taste): Json[] {
  const { messages } = request
  if (!Array.isArray(messages)) throw wrong('messages', 'has to be a list')
  return messages.flatMap((message: unknown, index) => {
    const at = `messages[${index}]`
    if (!isObject(message)) throw wrong(at, 'has to be an object')
    const placed = blocksIn(message['content'], `${at}.content`)
    switch (message['role']) {
      case 'user':
        return userMessages(placed, taste)
      case 'assistant':
        return [assistantMessage(placed, taste)]
      case 'system': {
        const parts = placed.flatMap((each) => partsOf(each, taste))
        return [{ role: 'system', content: contentOf(parts, paragraph) }]
      }
      default:
        throw wrong(`${at}.role`, 'has to be "user" or "assistant"')
    }
  })
}
