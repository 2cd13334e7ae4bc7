/** Asking a model from the console: the public format, charged to the account, streamed as it comes. */
import { ApiError } from './client.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface ChatAnswer {
  readonly text: string
  readonly requestId: string
  readonly promptTokens: number
  readonly completionTokens: number
  /** A decimal string; null where it was not told. */
  readonly cost: string | null
  readonly firstTokenMs: number
  readonly durationMs: number
}

export interface ChatOrder {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly temperature?: number
  readonly maxTokens?: number
  readonly signal?: AbortSignal
  /** Told the whole text so far. */
  readonly onText?: (text: string) => void
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[]
  readonly usage?: {
    readonly prompt_tokens?: number
    readonly completion_tokens?: number
    readonly cost?: number
  } | null
  readonly error?: { readonly message: string; readonly code: string }
}

async function refusalOf(reply: Response): Promise<ApiError> {
  const body: unknown = await reply.json().catch(() => null)
  const told = (body as { error?: { message: string; code: string; param: string | null } } | null)?.error
  return new ApiError(
    reply.status,
    told ?? { message: `HTTP ${reply.status}`, code: 'server_error', param: null },
    reply.headers,
  )
}

/** The payloads of an event stream, `[DONE]` left out. */
async function* payloadsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const data = line.startsWith('data: ') ? line.slice(6).trim() : ''
      if (data !== '' && data !== '[DONE]') yield JSON.parse(data) as Chunk
    }
  }
}

/** Nine digits after the point are all there are; a number in JSON has them exactly enough. */
function costText(cost: number | undefined): string | null {
  return cost === undefined ? null : cost.toFixed(9).replace(/\.?0+$/, '')
}

/** Throws an ApiError for a refusal, and what `signal` throws when it is ended. */
export async function ask(order: ChatOrder): Promise<ChatAnswer> {
  const startedAt = performance.now()
  const reply = await fetch('/api/console/chat/completions', {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    signal: order.signal ?? null,
    body: JSON.stringify({
      model: order.model,
      messages: order.messages,
      stream: true,
      stream_options: { include_usage: true },
      ...(order.temperature === undefined ? {} : { temperature: order.temperature }),
      ...(order.maxTokens === undefined ? {} : { max_tokens: order.maxTokens }),
    }),
  })
  if (!reply.ok || reply.body === null) throw await refusalOf(reply)
  let text = ''
  let firstTokenMs: number | null = null
  let usage: Chunk['usage'] = null
  for await (const chunk of payloadsOf(reply.body)) {
    if (chunk.error) throw new ApiError(200, { ...chunk.error, param: null }, reply.headers)
    const piece = chunk.choices?.[0]?.delta?.content ?? ''
    if (piece !== '') {
      firstTokenMs ??= performance.now() - startedAt
      text += piece
      order.onText?.(text)
    }
    usage = chunk.usage ?? usage
  }
  const durationMs = performance.now() - startedAt
  return {
    text,
    requestId: reply.headers.get('x-request-id') ?? '',
    promptTokens: usage?.prompt_tokens ?? 0,
    completionTokens: usage?.completion_tokens ?? 0,
    cost: costText(usage?.cost),
    firstTokenMs: firstTokenMs ?? durationMs,
    durationMs,
  }
}
