/**
 * The benchmark's response in the provider formats that the product translates: the same text and usage,
 * framed as each provider frames them.
 */

import { completionText, deltaTexts, upstreamModel, responseUsage } from './payloads.ts'

export interface CannedResponse {
  readonly json: Buffer
  /** One write each. */
  readonly events: readonly Buffer[]
}

const anthropicUsage = { input_tokens: responseUsage.input, output_tokens: responseUsage.output }
const anthropicMessage = {
  id: 'msg_bench00000000000000',
  type: 'message',
  role: 'assistant',
  model: upstreamModel,
  stop_sequence: null,
}

function namedEvent(event: Readonly<Record<string, unknown>> & { readonly type: string }): Buffer {
  return Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Anthropic Messages, "Streaming". */
export const anthropicResponse: CannedResponse = {
  json: Buffer.from(
    JSON.stringify({
      ...anthropicMessage,
      content: [{ type: 'text', text: completionText }],
      stop_reason: 'end_turn',
      usage: anthropicUsage,
    }),
  ),
  events: [
    namedEvent({
      type: 'message_start',
      message: {
        ...anthropicMessage,
        content: [],
        stop_reason: null,
        usage: { ...anthropicUsage, output_tokens: 1 },
      },
    }),
    namedEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...deltaTexts.map((text) =>
      namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    namedEvent({ type: 'content_block_stop', index: 0 }),
    namedEvent({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: responseUsage.output },
    }),
    namedEvent({ type: 'message_stop' }),
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
      promptTokenCount: responseUsage.input,
      candidatesTokenCount: responseUsage.output,
      totalTokenCount: responseUsage.input + responseUsage.output,
    },
    modelVersion: upstreamModel,
    responseId: 'bench',
  }
}

/** Gemini `generateContent` and `streamGenerateContent?alt=sse`. */
export const geminiResponse: CannedResponse = {
  json: Buffer.from(JSON.stringify(geminiBody(completionText, true))),
  events: deltaTexts.map((text, index) =>
    Buffer.from(`data: ${JSON.stringify(geminiBody(text, index === deltaTexts.length - 1))}\r\n\r\n`),
  ),
}
