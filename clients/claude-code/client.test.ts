// @suite all – runs an agent
// @drives a client
/**
 * Claude Code, unchanged, without a terminal: its settings, tools and conversations are in a temporary folder, and it
 * may reach nothing but the relay. It is started from the package of its platform: the script that would install it
 * into the other package does not run.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { assertCharged, startAgentTestServer } from '../agent-test-server.ts'
import type { Prompt, Reply } from '../agent-test-server.ts'
import { readSamples } from '../guide-samples.ts'
import { rejectOnce } from '../server-checks.ts'
import type { ClientTestServer } from '../test-server.ts'
import { families } from '../upstream-scripts.ts'
import type { Family } from '../upstream-scripts.ts'
import { longName, serverName, toolResult } from './tool.ts'

const packageName = `claude-code-${process.platform}-${process.arch}`
const program = fileURLToPath(new URL(`node_modules/@anthropic-ai/${packageName}/claude`, import.meta.url))
const mcpServer = fileURLToPath(new URL('mcp-server.ts', import.meta.url))
const skip = existsSync(program) ? false : 'not installed (.ci/run installs the locked versions in clients/)'

const fileName = 'stock.txt'
const fileText = 'There are 42 screws on the shelf.'

/** Retries of an error take three minutes; a run takes three seconds, on a machine ten times slower. */
const timeoutMs = 60_000

/** Reads the file, or calls the MCP tool, which Claude Code only shows after a search. */
function reply({ tools, results, text: asked }: Prompt): Reply {
  const found = results.find((result) => result.includes(toolResult) || result.includes('42 screws'))
  if (found !== undefined) return { text: `I found: ${found}` }
  const tool = tools.find(({ name }) => name.startsWith(`mcp__${serverName}__`))
  if (tool) return { toolCalls: [{ name: tool.name, input: { item: 'screws' } }] }
  const path = /Read (\S+)/.exec(asked)?.[1]
  if (path !== undefined) return { toolCalls: [{ name: 'Read', input: { file_path: path } }] }
  return { toolCalls: [{ name: 'ToolSearch', input: { query: `select:${longName}`, max_results: 5 } }] }
}

/** A proxy that connects nobody. `addresses`: what it was asked for. */
async function startProxy(t: TestContext): Promise<{ readonly url: string; readonly addresses: string[] }> {
  const addresses: string[] = []
  const server = createServer((request, response) => {
    addresses.push(request.url ?? '')
    response.writeHead(502).end()
  })
  server.on('connect', (request, socket) => {
    addresses.push(request.url ?? '')
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, addresses }
}

/** The variables that the guide sets. */
function guideSettings(url: string, key: string, model: string): Record<string, string> {
  const [sample = ''] = readSamples('claude-code', url, model)
  const settings = sample.matchAll(/^export (\w+)=(\S+)$/gm)
  return Object.fromEntries(
    Array.from(settings, ([, name = '', value = '']) => [name, value.replace('$SLUICE_KEY', key)]),
  )
}

interface Run {
  readonly url: string
  readonly key: string
  readonly model: string
  readonly prompt: string
  readonly args?: readonly string[]
}

interface Result {
  readonly exitCode: number | null
  readonly folder: string
  readonly is_error: boolean
  readonly api_error_status?: number
  readonly num_turns: number
  readonly result: string
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
}

/** Runs it once, in a folder with one file, and fails if it tries to reach anything but the relay. */
async function runClaudeCode(t: TestContext, { url, key, model, prompt, args = [] }: Run): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-claude-code-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  await writeFile(join(folder, fileName), fileText)
  const proxy = await startProxy(t)
  const child = spawn(program, ['-p', prompt, '--output-format', 'json', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: timeoutMs,
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: folder,
      TMPDIR: folder,
      ...guideSettings(url, key, model),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      NO_PROXY: '127.0.0.1',
    },
  })
  const [output, [exitCode]] = (await Promise.all([text(child.stdout), once(child, 'close')])) as [
    string,
    [number | null],
  ]
  assert.deepEqual(proxy.addresses, [])
  assert.notEqual(output, '', `it printed nothing in ${timeoutMs} ms`)
  return { ...(JSON.parse(output) as Result), exitCode, folder }
}

/** The name of the tool in the upstream's last request. */
function toolNamesSentTo({ upstreams }: ClientTestServer, family: Family): string[] {
  const sent = upstreams[family].requests.at(-1)?.text ?? ''
  return [...new Set(sent.match(new RegExp(`(?<="name":")mcp__${serverName}__\\w+`, 'g')))]
}

describe('Claude Code', () => {
  test('Claude Code – works unchanged', { skip }, async (t) => {
    const context = await startAgentTestServer(t, reply)
    const { server, rich, poor } = context
    for (const family of families) {
      const run = { url: server.url, key: rich.key.secret, model: `${family}-agent` }
      await t.test(`${family}: Tool – is called, and its result is read`, async (t) => {
        const prompt = `Read ${fileName}`
        const { exitCode, result, usage } = await runClaudeCode(t, { ...run, prompt })
        assert.equal(exitCode, 0, result)
        assert.match(result, /I found: .*42 screws/s)
        assert.partialDeepStrictEqual(usage, { input_tokens: 2000, output_tokens: 200 })
      })

      await t.test(`${family}: MCP tool with a long name – is called by its name`, async (t) => {
        const servers = { [serverName]: { command: process.execPath, args: [mcpServer] } }
        const mcp = ['--strict-mcp-config', '--mcp-config', JSON.stringify({ mcpServers: servers })]
        const args = [...mcp, '--allowedTools', `mcp__${serverName}`]
        const prompt = 'How many screws do we have?'
        const { exitCode, result } = await runClaudeCode(t, { ...run, prompt, args })
        assert.equal(exitCode, 0, result)
        assert.equal(result, `I found: ${toolResult}`)
        const [sentName = '', ...others] = toolNamesSentTo(context, family)
        assert.deepEqual(others, [])
        if (family === 'claude') assert.equal(sentName, longName)
        else assert.ok(sentName.length <= 64 && sentName !== '', sentName)
      })
    }

    await t.test('Wrong key – is reported at once', async (t) => {
      const run = { url: server.url, key: 'sk-nobody', model: 'claude-agent', prompt: 'Hello' }
      const { exitCode, ...result } = await runClaudeCode(t, run)
      assert.equal(exitCode, 1)
      assert.partialDeepStrictEqual(result, { is_error: true, api_error_status: 401 })
      assert.match(result.result, /API key/)
    })

    await t.test('Empty balance – is reported at once', async (t) => {
      const run = { url: server.url, key: poor.key.secret, model: 'claude-agent', prompt: 'Hello' }
      const { exitCode, ...result } = await runClaudeCode(t, run)
      assert.equal(exitCode, 1)
      assert.partialDeepStrictEqual(result, { is_error: true, api_error_status: 402 })
      assert.match(result.result, /balance/)
    })

    await t.test('Rate-limited upstream – is asked again', async (t) => {
      rejectOnce(context, 'other', 429)
      const run = { url: server.url, key: rich.key.secret, model: 'other-plain', prompt: 'Hello' }
      assert.equal((await runClaudeCode(t, run)).result, 'Hello, world!')
    })

    await t.test('Requests – are charged by the upstream’s usage', () => assertCharged(context))
  })
})
