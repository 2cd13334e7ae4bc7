/**
 * The demonstration upstream: an internal provider in the OpenAI format that returns the same text for the same prompt, and
 * reports the specified token estimate as usage. Its text says what it is.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { encodeSseEvent } from '../../lib/sse/sse-parser.ts'
import { estimateTokens, inputEstimateForCharge } from '../../relay/request/token-estimate.ts'
import { readChatRequest, type ChatCompletionRequest } from '../../relay/request/request-body.ts'
import { listen } from '../../lib/graceful-close.ts'
import { asApiError } from '../../errors.ts'

/** A loopback address of its own: allowing it makes nothing else on this machine reachable. */
export const demoAddress = process.platform === 'linux' ? '127.83.76.85' : '127.0.0.1'

const tokenDelayMs = 25
const maxTokens = 400

const sentences = [
  'This text comes from the demonstration upstream of Sluice, not from a model.',
  'It is the same for the same question, so that you can see what is counted and what is charged.',
  'Every token of it is billed at the price of the model that you named.',
  'Add an upstream of your own, route a model to it, and real answers take this place.',
]

function lastPrompt(request: ChatCompletionRequest): string {
  const { messages } = request.parsed()
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : null
  const content = typeof last === 'object' && last !== null && 'content' in last ? last.content : ''
  return typeof content === 'string' ? content.slice(0, 120).trim() : ''
}

/** Words up to the maximum of tokens. */
function responseWords(request: ChatCompletionRequest): { words: string[]; finish: 'stop' | 'length' } {
  const prompt = lastPrompt(request)
  const text = [prompt === '' ? 'Hello.' : `You said: "${prompt}".`, ...sentences].join(' ')
  const all = text.split(/(?<= )/)
  const limit = Math.min(request.maxOutputTokens ?? maxTokens, maxTokens)
  const words: string[] = []
  for (const word of all) {
    if (estimateTokens(words.join('') + word) > limit) return { words, finish: 'length' }
    words.push(word)
  }
  return { words, finish: 'stop' }
}

function usageOf(request: ChatCompletionRequest, text: string): Record<string, number> {
  const input = inputEstimateForCharge(request.parsed())
  const output = estimateTokens(text)
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

async function sendStream(request: ChatCompletionRequest, outgoing: ServerResponse): Promise<void> {
  const { words, finish } = responseWords(request)
  const identity = { id: 'chatcmpl-demo', object: 'chat.completion.chunk', created: 0, model: request.model }
  const send = (body: object): void =>
    void outgoing.write(encodeSseEvent(JSON.stringify({ ...identity, ...body })))
  const delta = (part: object, reason: string | null = null): void =>
    send({ choices: [{ index: 0, delta: part, finish_reason: reason }] })
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  delta({ role: 'assistant', content: '' })
  for (const word of words) {
    if (outgoing.destroyed) return
    delta({ content: word })
    await delay(tokenDelayMs)
  }
  delta({}, finish)
  if (request.includeUsage) send({ choices: [], usage: usageOf(request, words.join('')) })
  outgoing.end('data: [DONE]\n\n')
}

function sendNonStreaming(request: ChatCompletionRequest, outgoing: ServerResponse): void {
  const { words, finish } = responseWords(request)
  const content = words.join('')
  const body = {
    id: 'chatcmpl-demo',
    object: 'chat.completion',
    created: 0,
    model: request.model,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
    usage: usageOf(request, content),
  }
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function handleRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  try {
    const request = readChatRequest(Buffer.concat(chunks))
    if (request.stream) await sendStream(request, outgoing)
    else sendNonStreaming(request, outgoing)
  } catch (error) {
    const apiError = asApiError(error)
    if (!outgoing.headersSent) outgoing.writeHead(apiError.status, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(apiError.toBody()))
  }
}

/** Listens on a free port of its own loopback address. `url`: the base URL. */
export async function startDemoUpstream(): Promise<{ url: string; close(): void }> {
  const server: Server = createServer((incoming, outgoing) => void handleRequest(incoming, outgoing))
  await listen(server, { host: demoAddress, port: 0 })
  const address = server.address()
  if (address === null || typeof address === 'string')
    throw new Error('The demonstration upstream has no port.')
  return {
    url: `http://${demoAddress}:${address.port}/v1`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
