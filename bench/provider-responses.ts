/**
 * The bench's answer in the dialects that the product translates: the same words and the same usage, framed as their
 * providers frame them.
 */

import { answerText, deltaTexts, upstreamModel, usedTokens } from './payloads.ts'

export interface Canned {
  readonly whole: Buffer
  /** One write each. */
  readonly events: readonly Buffer[]
}

const anthropicUsage = { input_tokens: usedTokens.input, output_tokens: usedTokens.output }
const anthropicMessage = {
  id: 'msg_bench00000000000000',
  type: 'message',
  role: 'assistant',
  model: upstreamModel,
  stop_sequence: null,
}

function named(event: Readonly<Record<string, unknown>> & { readonly type: string }): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Anthropic Messages, "Streaming". */
export const anthropic: Canned = {
  whole: Buffer.from(
    JSON.stringify({
      ...anthropicMessage,
      content: [{ type: 'text', text: answerText }],
      stop_reason: 'end_turn',
      usage: anthropicUsage,
    }),
  ),
  events: [
    named({
      type: 'message_start',
      message: {
        ...anthropicMessage,
        content: [],
        stop_reason: null,
        usage: { ...anthropicUsage, output_tokens: 1 },
      },
    }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...deltaTexts.map((text) =>
      named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    named({ type: 'content_block_stop', index: 0 }),
    named({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: usedTokens.output },
    }),
    named({ type: 'message_stop' }),
  ],
}

function geminiBody(text: string, isLast: boolean): object {
  return {
    candidates: [
      {
        content: { role: 'model', parts: [{ text }] },
        index: 0,
        ...(isLast ? { finishReason: 'STOP' } : {}),
      },
    ],
    usageMetadata: {
      promptTokenCount: usedTokens.input,
      candidatesTokenCount: usedTokens.output,
      totalTokenCount: usedTokens.input + usedTokens.output,
    },
    modelVersion: upstreamModel,
    responseId: 'bench',
  }
}

/** Gemini `generateContent` and `streamGenerateContent?alt=sse`. */
export const gemini: Canned = {
  whole: Buffer.from(JSON.stringify(geminiBody(answerText, true))),
  events: deltaTexts.map((text, index) =>
    Buffer.from(`data: ${JSON.stringify(geminiBody(text, index === deltaTexts.length - 1))}\r\n\r\n`),
  ),
}
