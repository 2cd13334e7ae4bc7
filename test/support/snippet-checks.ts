/**
 * Checks blocks of code of the documentation without running them: their syntax, and the commands, options, settings,
 * endpoints and bodies in them.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { parse as parseYaml } from 'yaml'

import { adminEndpoints } from '../../src/http/admin/endpoints.ts'
import { createCommandLineParser } from './command-line-parser.ts'
import { settingNames } from './deploy/setting-names.ts'
import { readSnapshot, type Json } from './interface-snapshot.ts'
import { readShellCommands, type ShellCommand } from './shell-commands.ts'
import type { Snippet } from './snippets.ts'
import { readText } from './source-files.ts'

/** Programs that run the rest of their command line, with the number of their own arguments. */
const wrappers: readonly (readonly [prefix: string, ownArguments: number])[] = [
  ['docker compose exec', 1],
  ['exec', 0],
  ['npx', 0],
  ['sudo', 0],
]
/** Variables of clients and of Node.js. */
const otherVariables = /^(ANTHROPIC_|OPENAI_|SLUICE_KEY$|NODE_ENV$|RAG_|ENABLE_)/

const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }
const openapi = readSnapshot('endpoints')['openapi'] as {
  paths: Record<string, Record<string, Json>>
}
const parseCommandLine = await createCommandLineParser()

/** What the shell would run: without `npx`, `exec` and the like. */
function unwrap(words: readonly string[]): readonly string[] {
  const line = words.join(' ')
  const wrapper = wrappers.find(([prefix]) => line.startsWith(`${prefix} `))
  if (wrapper === undefined) return words
  const [prefix, ownArguments] = wrapper
  return unwrap(words.slice(prefix.split(' ').length + ownArguments))
}

function matchesPath(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(
    path,
  )
}

/** The value of each option of curl that is looked at, and the address. */
function readCurl(args: readonly string[]): { url: string; method: string; body: string | undefined } {
  const valueOf = (option: string): string | undefined => {
    const index = args.indexOf(option)
    return index === -1 ? undefined : args[index + 1]
  }
  const url = args.find((arg, index) => /\/(v1|api)\//.test(arg) && !args[index - 1]?.startsWith('-d'))
  const body = valueOf('-d')
  return { url: url ?? '', body, method: valueOf('-X') ?? (body === undefined ? 'GET' : 'POST') }
}

function checkCurl(args: readonly string[]): void {
  const { url, method, body } = readCurl(args)
  const path =
    /\/(?:v1|api\/admin)\/[^?]*/.exec(url)?.[0] ?? assert.fail(`no endpoint in curl ${args.join(' ')}`)
  const template = Object.keys(openapi.paths).find(
    (each) => matchesPath(each, path) && method.toLowerCase() in (openapi.paths[each] ?? {}),
  )
  assert.ok(template !== undefined, `${method} ${path} is not an endpoint`)
  if (body === undefined) return
  const value: unknown = JSON.parse(body)
  const endpoint = adminEndpoints.find(
    (each) => `/api/admin${each.path}` === template && each.method === method.toLowerCase(),
  )
  const result = endpoint?.body?.safeParse(value)
  assert.ok(result?.success !== false, `${method} ${path} rejects ${body}: ${String(result?.error?.message)}`)
}

async function checkCommand({ words }: ShellCommand): Promise<void> {
  const [program = '', ...args] = unwrap(words)
  if (program === 'npm' && args[0] === 'run') assert.ok((args[1] ?? '') in scripts, `npm run ${args[1]}`)
  if (program === 'curl') checkCurl(args)
  // Without arguments, it is the name of a function that is defined.
  if (args.length > 0 && /(^|\/)sluice(-[\d.]+\.tgz)?$/.test(program))
    await parseCommandLine(args).catch(rethrowUnlessHelp)
}

function rethrowUnlessHelp(error: unknown): void {
  if ((error as { exitCode?: number }).exitCode !== 0) throw error
}

async function checkShell({ code, page }: Snippet): Promise<void> {
  const { status, stderr } = spawnSync('sh', ['-n'], { input: code, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  // As the clients have it.
  for (const command of readShellCommands(code.replaceAll('$OPENAI_BASE_URL', '/v1'))) {
    for (const name of command.variables) {
      const isUsed = readText(page).includes(`$${name}`)
      assert.ok(settingNames.has(name) || otherVariables.test(name) || isUsed, `${name} is not a setting`)
    }
    await checkCommand(command)
  }
}

/** The part of TOML that the documentation uses: tables, keys with values that are JSON, and inline tables. */
function checkToml({ code }: Snippet): void {
  for (const line of code.split('\n').filter((each) => each.trim() !== '' && !each.startsWith('#'))) {
    if (/^\[[\w.-]+\]$/.test(line)) continue
    const [, value] = /^[\w.-]+ = (.+)$/.exec(line) ?? assert.fail(line)
    JSON.parse((value ?? '').replaceAll(/([\w-]+) = /g, '"$1": '))
  }
}

/** systemd reads a comment behind a value as a part of it. */
function checkIni({ code }: Snippet): void {
  for (const line of code.split('\n')) assert.match(line, /^$|^\[\w+\]$|^\w+=(?!.*\s#).+$|^[#;]/)
}

function checkPython({ code }: Snippet): void {
  const program = 'import ast, sys; ast.parse(sys.stdin.read())'
  const { status, stderr } = spawnSync('python3', ['-c', program], { input: code, encoding: 'utf8' })
  // Without Python, only the tests that run clients would see an error.
  assert.ok(status === 0 || status === null, stderr)
}

/** By language, what fails for a wrong block. */
export const snippetChecks: Readonly<Record<string, (snippet: Snippet) => unknown>> = {
  sh: checkShell,
  json: ({ code }) => JSON.parse(code) as unknown,
  yaml: ({ code }) => parseYaml(code) as unknown,
  toml: checkToml,
  ini: checkIni,
  ts: ({ code }) => stripTypeScriptTypes(code),
  js: ({ code }) => stripTypeScriptTypes(code),
  python: checkPython,
}
