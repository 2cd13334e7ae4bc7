/** Streaming chat completions from the console, in the public API format and charged to the account. */
import { ApiError } from './client.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface ChatResponse {
  readonly text: string
  readonly requestId: string
  readonly promptTokens: number
  readonly completionTokens: number
  /** A decimal string; null if the response did not include it. */
  readonly cost: string | null
}

export interface ChatRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly temperature?: number
  readonly maxTokens?: number
  readonly signal?: AbortSignal
  /** Called with the whole text received so far. */
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

async function errorFromResponse(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null)
  const error = (body as { error?: { message: string; code: string; param: string | null } } | null)?.error
  return new ApiError(
    response.status,
    error ?? { message: `HTTP ${response.status}`, code: 'server_error', param: null },
    response.headers,
  )
}

/** The parsed events of a server-sent event stream, without `[DONE]`. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let buffer = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (buffer + decoder.decode(value, { stream: true })).split('\n')
    buffer = lines.pop() ?? ''
    for (const line of lines) {
      const data = line.startsWith('data: ') ? line.slice(6).trim() : ''
      if (data !== '' && data !== '[DONE]') yield JSON.parse(data) as Chunk
    }
  }
}

/** Costs have at most nine decimals, which a JSON number represents precisely enough. */
function formatCost(cost: number | undefined): string | null {
  return cost === undefined ? null : cost.toFixed(9).replace(/\.?0+$/, '')
}

/** Throws an ApiError if the API returns an error, and the reason of `signal` if it is aborted. */
export async function sendChat(request: ChatRequest): Promise<ChatResponse> {
  const response = await fetch('/api/console/chat/completions', {
    method: 'POST',
    credentials: 'same-origin',
    headers: { 'content-type': 'application/json' },
    signal: request.signal ?? null,
    body: JSON.stringify({
      model: request.model,
      messages: request.messages,
      stream: true,
      stream_options: { include_usage: true },
      ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
      ...(request.maxTokens === undefined ? {} : { max_tokens: request.maxTokens }),
    }),
  })
  if (!response.ok || response.body === null) throw await errorFromResponse(response)
  let text = ''
  let usage: Chunk['usage'] = null
  for await (const chunk of readEvents(response.body)) {
    if (chunk.error) throw new ApiError(200, { ...chunk.error, param: null }, response.headers)
    const delta = chunk.choices?.[0]?.delta?.content ?? ''
    if (delta !== '') {
      text += delta
      request.onText?.(text)
    }
    usage = chunk.usage ?? usage
  }
  return {
    text,
    requestId: response.headers.get('x-request-id') ?? '',
    promptTokens: usage?.prompt_tokens ?? 0,
    completionTokens: usage?.completion_tokens ?? 0,
    cost: formatCost(usage?.cost),
  }
}
