// @backend both (cluster in long runs)
/**
 * The Responses API with upstreams of every kind: the cases of Open Responses' conformance suite over HTTP and WebSocket,
 * each against scripted upstreams that check what they receive. Those about connections: responses-websocket.test.ts.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError, waitForRecord } from '../../support/client/responses.ts'
import {
  checkResponse,
  postResponses,
  responsesRequest,
  streamResponse,
  textOf,
  type ResponseObject,
} from '../../support/client/responses-api.ts'
import { ResponsesSocket } from '../../support/client/responses-websocket.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { nativeResponse, respondNatively, respondWithItems } from '../../support/upstream/native-responses.ts'
import { replay } from '../../support/upstream/provider-recordings.ts'
import { respondWith, respondWithJson } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002', cache_write: '0.0025' }
const alice = await server.account({ balance: '¥10' })
const kinds = ['responses', 'openai', 'anthropic', 'gemini', 'bedrock', 'cohere'] as const
type Kind = (typeof kinds)[number]
const usage = { input: 20, output: 4, cached: 8 }
const image = 'data:image/png;base64,iVBORw0KGgo='
const pdf = 'data:application/pdf;base64,JVBERi0xLjQK'
const weather = {
  type: 'function',
  name: 'weather',
  description: 'Weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const toolCall = { name: 'weather', arguments: '{"city":"Oslo"}' }

const compaction = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA' }
const native: Script = (exchange) => {
  const isCompaction = exchange.request.path.endsWith('/compact')
  const script = isCompaction
    ? respondWithJson(200, nativeResponse([compaction], { object: 'response.compaction' }))
    : respondNatively('Hello, ', 'world.')
  return script(exchange)
}

function textScript(kind: Kind): Script {
  if (kind === 'responses') return native
  return kind === 'openai' ? respondWith('Hello, world.', usage) : replay(kind, 'text')
}

function toolScript(kind: Kind): Script {
  if (kind === 'responses') {
    const call = { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', ...toolCall }
    return respondWithItems([call])
  }
  if (kind !== 'openai') return replay(kind, 'tools')
  return respondWith('', usage, { toolCalls: [{ id: 'call_1', ...toolCall }] })
}

/** The response over a WebSocket of its own. */
async function overWebSocket(body: object): Promise<ResponseObject> {
  const socket = await ResponsesSocket.open(server.url, alice.key.secret)
  try {
    return await socket.respond(body)
  } finally {
    await socket.close()
  }
}

for (const kind of kinds) {
  const isNative = kind === 'responses'
  const speaks = isNative ? ['responses'] : []
  const upstream = await server.upstream(textScript(kind), { provider: isNative ? 'openai' : kind, speaks })
  // What passes through is not ours to correct.
  if (!isNative) upstream.strict(kind)
  await server.model(kind, { upstreams: [upstream], prices })

  describe(`Responses API (${kind})`, () => {
    for (const [name, fields] of Object.entries({
      'Basic response': {},
      'System prompt': {
        input: [
          { type: 'message', role: 'system', content: 'You are a pirate.' },
          { type: 'message', role: 'user', content: 'Say hello.' },
        ],
      },
      Instructions: {
        instructions: 'Be brief.',
        input: [
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: 'Hi' },
        ],
      },
      'Multi-turn conversation': {
        input: [
          { type: 'message', role: 'user', content: 'My name is Alice.' },
          { type: 'message', role: 'assistant', content: 'Hello Alice!' },
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is my name?' }] },
        ],
      },
      'Assistant phase': {
        input: [
          { type: 'message', role: 'user', content: 'Help me.' },
          {
            type: 'message',
            role: 'assistant',
            phase: 'commentary',
            content: [{ type: 'output_text', text: 'I look.' }],
          },
          { type: 'message', role: 'assistant', phase: 'final_answer', content: 'Found it.' },
          { type: 'message', role: 'user', content: 'Thanks.' },
        ],
      },
    })) {
      test(`${name} – is completed with the same output in every way`, async () => {
        const body = responsesRequest(kind, fields)
        const response = await postResponses(alice, body)
        assert.equal(response.status, 200)
        const { output, status, usage } = checkResponse(await response.json())
        assert.deepEqual([status, output.map(textOf)], ['completed', ['Hello, world.']])
        assert.deepEqual([usage?.['input_tokens'], usage?.['output_tokens']], [20, 4])
        const streamed = await streamResponse(alice, body)
        assert.deepEqual(streamed.output.map(textOf), ['Hello, world.'])
        const framed = await overWebSocket(body)
        assert.deepEqual(framed.output.map(textOf), ['Hello, world.'])
        assert.deepEqual([streamed.usage, framed.usage], [usage, usage])
        assert.equal((await waitForRecord(alice, response)).usage_source, 'provider')
      })
    }

    test('File input – reaches the upstream, or is 400', async () => {
      const content = [{ type: 'input_file', filename: 'a.pdf', file_data: pdf }]
      const body = responsesRequest(kind, { input: [{ role: 'user', content }] })
      const response = await postResponses(alice, body)
      if (kind === 'cohere') {
        assert.deepEqual([response.status, (await readError(response)).param], [400, 'input'])
        return
      }
      assert.equal(response.status, 200, await response.clone().text())
      assert.ok(upstream.requests.at(-1)?.text.includes('JVBERi0xLjQK'))
    })

    test('Compaction – starts a new chain over either transport', async () => {
      const input = [{ role: 'user', content: 'My name is Alice.' }]
      const path = '/v1/responses/compact'
      const response = await alice.post({ model: kind, input }, { path })
      assert.equal(response.status, 200, await response.clone().text())
      const { object, output } = (await response.json()) as { object: string; output: object[] }
      assert.equal(object, 'response.compaction')
      const next = { ...responsesRequest(kind), input: [...output, { role: 'user', content: 'Go on.' }] }
      assert.equal((await postResponses(alice, next)).status, 200)
      assert.equal((await overWebSocket(next)).status, 'completed')
      const missing = await alice.post({ input }, { path })
      assert.deepEqual([missing.status, (await readError(missing)).param], [400, 'model'])
    })

    test('Image input – reaches the upstream', async () => {
      const content = [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: image },
      ]
      const response = await postResponses(
        alice,
        responsesRequest(kind, { input: [{ role: 'user', content }] }),
      )
      assert.equal(response.status, 200)
      assert.match(upstream.requests.at(-1)?.text ?? '', /iVBORw0KGgo=/)
    })

    test('Tool calling – returns calls whose results the upstream takes back', async () => {
      upstream.next(toolScript(kind))
      const question = { role: 'user', content: 'Weather in Oslo?' }
      const body = responsesRequest(kind, { tools: [weather], input: [question] })
      const { output } = await streamResponse(alice, body)
      const calls = output.filter(({ type }) => type === 'function_call')
      assert.ok(calls.length > 0)
      const results = calls.map(({ call_id: id }) => ({
        type: 'function_call_output',
        call_id: id,
        output: 'Sunny',
      }))
      const next = await postResponses(alice, { ...body, input: [question, ...output, ...results] })
      assert.equal(next.status, 200, await next.clone().text())
      assert.equal(checkResponse(await next.json()).status, 'completed')
      const sent = upstream.requests.at(-1)?.text ?? ''
      for (const { call_id: id } of calls) assert.ok(sent.includes(String(id)) || kind === 'gemini', sent)
      if (kind === 'gemini') assert.match(sent, /"thoughtSignature":"c2ln/)
    })
  })
}
