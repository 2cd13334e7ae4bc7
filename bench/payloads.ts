/**
 * Requests and responses of all measurements, built once and kept as bytes, so that the upstream only writes
 * and the load generator only compares.
 */

export const clientModel = 'bench'
export const upstreamModel = 'bench-upstream'

/** The usage of every response, non-streaming or streaming, so that each costs the same. */
export const responseUsage = { input: 250, output: 200 }

/** The upstream delays its response to this user. */
const delayedUser = 'thinking'
export const delayMs = 10
/** For this user it sends nothing after the first event of its stream. */
const silentUser = 'silent'

/** Events of one stream: the role, the deltas, the finish reason, the usage, `[DONE]`. */
export const eventsPerStream = 100

export type RequestKind =
  | '1kb'
  | '40kb'
  | 'thinking'
  | 'stream'
  | 'silent'
  | 'responses'
  | 'responses-stream'
  | 'embeddings'

const sentences = [
  'The relay passes the words on as they are, and "counts" them on the way.\n',
  'A balance is never overspent, however many requests run at once. ',
  'Each answer is charged exactly once; nothing that was held stays held. ',
  'Das Maß ist voll, sagte der Zähler – und zählte weiter.\n',
]

/** The body of a request to a model: a conversation of about this many bytes. */
export function requestBody(kind: RequestKind, model: string): Buffer {
  if (kind === 'embeddings')
    return Buffer.from(JSON.stringify({ model, input: text(900), encoding_format: 'base64' }))
  const bytes = kind === '40kb' ? 40 * 1024 : 1024
  const isOfResponses = kind === 'responses' || kind === 'responses-stream'
  const messages = [{ role: 'system', content: 'You are a careful assistant. Answer briefly.' }]
  const fields = {
    model,
    ...(isOfResponses ? { input: messages, max_output_tokens: 512 } : { messages, max_tokens: 512 }),
    temperature: 0.7,
    ...(kind === 'silent' ? { stream: true, user: silentUser } : {}),
    ...(kind === 'stream' ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(kind === 'responses-stream' ? { stream: true } : {}),
    ...(kind === 'thinking' ? { user: delayedUser } : {}),
  }
  const messageBytes = bytes > 4096 ? 2048 : bytes
  for (
    let left = bytes - JSON.stringify(fields).length;
    left > 60;
    left = bytes - Buffer.byteLength(JSON.stringify(fields))
  ) {
    const role = messages.length % 2 === 1 ? 'user' : 'assistant'
    messages.push({ role, content: text(Math.min(messageBytes, left) - 50) })
  }
  return Buffer.from(JSON.stringify(fields))
}

const streamMark = '"stream":true'
const silentMark = `"user":"${silentUser}"`
const delayedMark = `"user":"${delayedUser}"`

export function isStream(body: Buffer): boolean {
  return body.includes(streamMark)
}

export function isSilent(body: Buffer): boolean {
  return body.includes(silentMark)
}

export function isDelayed(body: Buffer): boolean {
  return body.includes(delayedMark)
}

/** The text of a non-streaming response, and of the deltas of a stream. */
export const completionText = text(600)
export const deltaTexts: readonly string[] = Array.from(
  { length: eventsPerStream - 4 },
  (_, index) => ` word${index}`,
)

/** A non-streaming response of about 1 KB. */
export const jsonResponse = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench0000000000000000000000',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: upstreamModel,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: completionText, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: usageObject(),
    system_fingerprint: 'fp_bench',
  }),
)

/** The events of a stream. The last but one contains the usage. */
export const streamEvents: readonly Buffer[] = streamPayloads().map((payload) =>
  Buffer.from(`data: ${payload}\n\n`),
)

function streamPayloads(): string[] {
  const chunk = (choices: object[], more: object = {}) =>
    JSON.stringify({
      id: 'chatcmpl-bench0000000000000000000000',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: upstreamModel,
      choices,
      ...more,
    })
  const delta = (content: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: content, logprobs: null, finish_reason: finish }])
  const deltas = deltaTexts.map((content) => delta({ content }))
  const usage = chunk([], { usage: usageObject() })
  return [delta({ role: 'assistant', content: '' }), ...deltas, delta({}, 'stop'), usage, '[DONE]']
}

function usageObject(): object {
  return {
    prompt_tokens: responseUsage.input,
    completion_tokens: responseUsage.output,
    total_tokens: responseUsage.input + responseUsage.output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  }
}

function text(length: number): string {
  const repeats = Math.ceil(length / sentences.join('').length)
  return sentences.join('').repeat(Math.max(1, repeats)).slice(0, Math.max(1, length))
}
