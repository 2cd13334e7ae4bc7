/**
 * The test server for agents and frameworks: that of the official clients, with one more model for each family. The model
 * `…-agent` responds to what it is asked: it calls tools, quotes their results and keeps to a schema.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { isObject } from '../src/providers/json-fields.ts'
import type { ReceivedRequest, Script } from '../test/support/upstream/exchange.ts'
import { respondWith } from '../test/support/upstream/scripted-responses.ts'
import { strict } from '../test/support/upstream/strict-upstream.ts'
import { startClientTestServer } from './test-server.ts'
import type { ClientTestServer } from './test-server.ts'
import { families, respondWithContent, usage } from './upstream-scripts.ts'

type Json = Record<string, unknown>

/** What a request asks the model for, in neither format. */
export interface Prompt {
  readonly tools: readonly { readonly name: string; readonly schema: Json }[]
  /** The tools that `tool_choice` forces: all, or one by its name. */
  readonly forced: boolean | string
  /** The texts of the tool results after the last response. */
  readonly results: readonly string[]
  /** The text of the user's last message. */
  readonly text: string
  /** The schema of the response's text. */
  readonly schema: Json | undefined
}

export interface Reply {
  readonly text?: string
  readonly toolCalls?: readonly { readonly name: string; readonly input: Json }[]
}

export type ScriptedModel = (prompt: Prompt) => Reply

function listIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function objectIn(value: unknown): Json {
  return isObject(value) ? value : {}
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listIn(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}

/** The messages after the model's last response. */
function newMessages(json: Json): Json[] {
  const messages = listIn(json['messages'])
  return messages.slice(messages.findLastIndex((message) => message['role'] === 'assistant') + 1)
}

function isOfUser(message: Json): boolean {
  return message['role'] === 'user'
}

function readChatRequest({ json }: ReceivedRequest): Prompt {
  const messages = newMessages(json)
  const choice = json['tool_choice']
  const format = objectIn(json['response_format'])
  return {
    tools: listIn(json['tools']).map((tool) => {
      const { name, parameters } = objectIn(tool['function'])
      return { name: String(name), schema: objectIn(parameters) }
    }),
    forced: isObject(choice) ? String(objectIn(choice['function'])['name']) : choice === 'required',
    results: messages
      .filter((message) => message['role'] === 'tool')
      .map((message) => textOf(message['content'])),
    text: textOf(messages.findLast(isOfUser)?.['content']),
    schema:
      format['type'] === 'json_schema' ? objectIn(objectIn(format['json_schema'])['schema']) : undefined,
  }
}

function readMessagesRequest({ json }: ReceivedRequest): Prompt {
  const last = newMessages(json).findLast(isOfUser) ?? {}
  const choice = objectIn(json['tool_choice'])
  const format = objectIn(objectIn(json['output_config'])['format'] ?? json['output_format'])
  return {
    tools: listIn(json['tools']).map((tool) => {
      return { name: String(tool['name']), schema: objectIn(tool['input_schema']) }
    }),
    forced: choice['type'] === 'tool' ? String(choice['name']) : choice['type'] === 'any',
    results: listIn(last['content'])
      .filter((block) => block['type'] === 'tool_result')
      .map((block) => textOf(block['content'])),
    text: textOf(last['content']),
    schema: format['type'] === 'json_schema' ? objectIn(format['schema']) : undefined,
  }
}

/** A value that fits the schema. Texts are those in quotation marks in the prompt, if it has any. */
function sampleOf(schema: Json, prompt: Prompt): unknown {
  const { type, properties, required } = schema
  const options = listIn(schema['anyOf'])
  if (options[0]) return sampleOf(options[0], prompt)
  if (Array.isArray(schema['enum'])) return schema['enum'][0] as unknown
  if (type === 'integer' || type === 'number') return 3
  if (type === 'boolean') return true
  if (type === 'array') return [sampleOf(objectIn(schema['items']), prompt)]
  if (type === 'string') return /['"](.+?)['"]/.exec(prompt.text)?.[1] ?? 'pirate'
  const names = Array.isArray(required) ? required.map(String) : []
  const fields = Object.entries(objectIn(properties)).filter(([name]) => names.includes(name))
  return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(objectIn(field), prompt)]))
}

/** The object that a prompt without a schema asks for: "a JSON with 'city' and 'people' keys". */
function sampleOfWords({ text }: Prompt): Json | undefined {
  if (!text.includes('JSON')) return undefined
  return Object.fromEntries(Array.from(text.matchAll(/'(\w+)'/g), ([, name = '']) => [name, 'pirate']))
}

/** Calls a tool if there are any, quotes its result, keeps to a schema, and says hello otherwise. */
export function replyObligingly(prompt: Prompt): Reply {
  const { tools, forced, results, schema } = prompt
  if (results.length > 0 && forced === false) return { text: `The tool said: ${results.join(', ')}` }
  const tool = tools.find(({ name }) => name === forced) ?? tools[0]
  if (tool) return { toolCalls: [{ name: tool.name, input: objectIn(sampleOf(tool.schema, prompt)) }] }
  const object = schema ? sampleOf(schema, prompt) : sampleOfWords(prompt)
  return { text: object === undefined ? 'Hello, world!' : JSON.stringify(object) }
}

/** The script of an upstream that responds as this model does. Each call has an id of its own. */
function respondAs(model: ScriptedModel): { readonly claude: Script; readonly other: Script } {
  let callCount = 0
  return {
    claude(exchange) {
      const { text, toolCalls = [] } = model(readMessagesRequest(exchange.request))
      const calls = toolCalls.map((call) => ({ type: 'tool_use', id: `toolu_${++callCount}`, ...call }))
      const content = [...(text === undefined ? [] : [{ type: 'text', text }]), ...calls]
      return respondWithContent(content, calls.length > 0 ? 'tool_use' : 'end_turn')(exchange)
    },
    other(exchange) {
      const { text = '', toolCalls } = model(readChatRequest(exchange.request))
      const calls = toolCalls?.map(({ name, input }) => {
        return { id: `call_${++callCount}`, name, arguments: JSON.stringify(input) }
      })
      return respondWith(text, usage, calls ? { toolCalls: calls } : {})(exchange)
    },
  }
}

/** The upstreams' names of the model: what a strict upstream accepts depends on them. */
const agentModels = { claude: 'claude-sonnet-4-6', other: 'gpt-4.1' } as const

/** The server of `startClientTestServer`, with the models `claude-agent` and `other-agent`. */
export async function startAgentTestServer(t: TestContext, model: ScriptedModel): Promise<ClientTestServer> {
  const context = await startClientTestServer(t)
  const scripts = respondAs(model)
  for (const family of families) {
    const upstream = context.upstreams[family]
    const name = agentModels[family]
    upstream.forModel(name, strict(family === 'claude' ? 'anthropic' : 'openai', scripts[family]))
    const routes = [{ upstream: upstream.name, model: name, priority: 1 }]
    await context.server.model(`${family}-agent`, { upstreams: [], routes })
  }
  return context
}

/** Checks that each request to `…-agent` was charged by the upstream's usage, and that nothing is held. */
export async function assertCharged({ server, upstreams, rich }: ClientTestServer): Promise<void> {
  await server.assertNoOpenHolds()
  for (const family of families) {
    const rows = await rich.requests({ model: `${family}-agent`, limit: '1000' })
    const charged = rows.filter((row) => row.outcome === 'ok')
    for (const { prompt_tokens: input, completion_tokens: output, usage_source } of charged)
      assert.deepEqual({ input, output, usage_source }, { ...usage, usage_source: 'provider' })
    const sent = upstreams[family].requests.filter(({ json }) => json['model'] === agentModels[family])
    assert.equal(charged.length, sent.length)
  }
}
