/** Collects the events of a stream in Anthropic's format into its message (Anthropic, "Streaming messages"). */
import { getNumber, getObject, isObject, type Json } from '../providers/json-fields.ts'
import { mergeUsage } from '../providers/usage-counts.ts'

interface Block {
  readonly fields: Record<string, unknown>
  /** The pieces of a tool's input, which is JSON. */
  input: string
}

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The maximum of output tokens has cut the input.
    return {}
  }
}

function addDelta(block: Block, { type: _type, ...delta }: Json): void {
  for (const [key, value] of Object.entries(delta)) {
    const known = block.fields[key]
    if (key === 'partial_json') block.input += String(value)
    else if (key === 'citation') {
      const { citations } = block.fields
      block.fields['citations'] = [...(Array.isArray(citations) ? (citations as unknown[]) : []), value]
    } else if (typeof value === 'string' && typeof known === 'string') block.fields[key] = known + value
    else block.fields[key] = value
  }
}

export class MessagesCollector {
  #message: Json = {}
  readonly #blocks = new Map<number, Block>()

  /** Adds an event; others than those of a message are ignored. */
  add(event: Json): void {
    const index = getNumber(event, 'index') ?? 0
    switch (event['type']) {
      case 'message_start':
        this.#message = getObject(event, 'message') ?? {}
        return
      case 'content_block_start':
        this.#blocks.set(index, { fields: { ...getObject(event, 'content_block') }, input: '' })
        return
      case 'content_block_delta': {
        const [block, delta] = [this.#blocks.get(index), getObject(event, 'delta')]
        if (block && delta) addDelta(block, delta)
        return
      }
      case 'message_delta': {
        const { type: _type, delta, usage, ...others } = event
        const counts = mergeUsage(getObject(this.#message, 'usage'), isObject(usage) ? usage : {})
        this.#message = { ...this.#message, ...(isObject(delta) ? delta : {}), ...others, usage: counts }
      }
    }
  }

  /** The message to which the events add up. */
  response(): Json {
    const content = Array.from(this.#blocks.values(), ({ fields, input }) =>
      input === '' ? fields : { ...fields, input: parseInput(input) },
    )
    return { ...this.#message, content }
  }
}
