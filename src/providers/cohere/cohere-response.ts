/** Translates Cohere's responses and streams (v2 chat) into the OpenAI format. A tool plan becomes reasoning. */
import { encodeInput } from '../chat-response.ts'
import { classOf, cohereReasons } from '../finish-reasons.ts'
import { encodeArguments } from '../tool-call-pieces.ts'
import {
  getCount,
  hasAnyCount,
  getNumber,
  getObject,
  getObjects,
  getString,
  type Json,
} from '../json-fields.ts'
import { createTranslation, ResponseReader } from '../response-translation.ts'
import { createUsage, type TokenUsage } from '../usage.ts'

/** The billed units, not `tokens`, which include Cohere's own instructions. */
function parseCohereUsage(usage: Json | undefined): TokenUsage | null {
  const kinds = usage ? [getObject(usage, 'billed_units'), getObject(usage, 'tokens')] : []
  const units = kinds.find((each) => each && hasAnyCount(each, 'input_tokens', 'output_tokens'))
  if (!units) return null
  return createUsage({
    input: getCount(units, 'input_tokens'),
    output: getCount(units, 'output_tokens'),
  })
}

class CohereReader extends ResponseReader {
  readResponse(body: Json): void {
    const message = getObject(body, 'message')
    if (!message) throw new Error('Not a Cohere response.')
    this.writer.setIdentity(getString(body, 'id'), undefined)
    for (const part of getObjects(message, 'content')) this.#onContent(part)
    this.writer.reasoning(getString(message, 'tool_plan'))
    for (const [index, call] of getObjects(message, 'tool_calls').entries()) {
      this.#onCall(index, call)
      this.writer.endBlock(index)
    }
    this.#onEnd(body)
  }

  readEvent(event: Json): void {
    const delta = getObject(event, 'delta') ?? {}
    const message = getObject(delta, 'message') ?? {}
    const index = getNumber(event, 'index') ?? 0
    switch (event['type']) {
      case 'message-start':
        this.writer.setIdentity(getString(event, 'id'), undefined)
        return this.writer.start()
      case 'content-start':
      case 'content-delta':
        return this.#onContent(getObject(message, 'content') ?? {})
      case 'tool-plan-delta':
        return this.writer.reasoning(getString(message, 'tool_plan'))
      case 'tool-call-start':
        return this.#onCall(index, getObject(message, 'tool_calls') ?? {})
      case 'tool-call-delta': {
        const called = getObject(getObject(message, 'tool_calls') ?? {}, 'function') ?? {}
        return this.writer.addInput(index, encodeArguments(called['arguments']))
      }
      case 'tool-call-end':
        return this.writer.endBlock(index)
      case 'message-end':
        this.isComplete = true
        return this.#onEnd(delta)
    }
    if (typeof event['type'] !== 'string') throw new Error('Not a Cohere event.')
  }

  #onContent(part: Json): void {
    this.writer.reasoning(getString(part, 'thinking'))
    this.writer.text(getString(part, 'text'))
  }

  #onCall(index: number, call: Json): void {
    const called = getObject(call, 'function') ?? {}
    const input = encodeInput(called['arguments'] ?? '')
    this.writer.startCall(index, getString(call, 'id'), getString(called, 'name'), input)
  }

  #onEnd(end: Json): void {
    const native = getString(end, 'finish_reason') ?? 'COMPLETE'
    const usage = parseCohereUsage(getObject(end, 'usage'))
    if (classOf(cohereReasons, native) === 'failed') {
      const message = getString(end, 'error') ?? 'The provider ended its response early.'
      return this.writer.error(message, native, native === 'TIMEOUT' ? 504 : 500, usage)
    }
    this.writer.finish(native)
    this.writer.usage(usage)
  }
}

export const cohereTranslation = createTranslation(CohereReader, { reasons: cohereReasons })
