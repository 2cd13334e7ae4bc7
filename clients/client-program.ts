/**
 * Runs the end-to-end program of an official client against the test server, once for each generation of the client and
 * each upstream. A program reads one line of JSON (URL, keys, test data), then one line per scenario: the family of
 * models and the scenario's name. It prints one line of JSON for each: null, or the error.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { readSamples } from './guide-samples.ts'
import { startClientTestServer } from './test-server.ts'
import type { ClientTestServer } from './test-server.ts'
import { families, toolInputs } from './upstream-scripts.ts'
import type { Family } from './upstream-scripts.ts'

/** What to prepare and check on the server around a function of the program. */
export interface Scenario {
  /** The function; Python's has underscores. */
  readonly name: string
  /** Default: all. */
  readonly families?: readonly Family[]
  /** The first generation that can do it. */
  readonly since?: number
  readonly before?: (context: ClientTestServer, family: Family) => void
  /** `doneMs`: when the program was done, by `performance.now()`. */
  readonly after?: (context: ClientTestServer, family: Family, doneMs: number) => Promise<void> | void
}

/** A generation of a client. */
export interface Generation {
  readonly command: readonly [string, ...string[]]
  /** Exists if the generation is installed. */
  readonly installed: string
  /** Runs a program with this key in SLUICE_KEY; returns what it prints. */
  readonly runCode: (code: string, key: string) => Promise<string>
}

/** A client, its guide in docs/clients/, and its generations by their major versions. */
export interface Client {
  readonly title: string
  readonly guide: string
  readonly generations: Readonly<Record<number, Generation>>
  /** The model for the guide's sample, and what it prints then. Default: one for chat. */
  readonly sample?: { readonly model: string; readonly output: string }
}

const chatSample = { model: 'claude-plain', output: 'Hello, world!' }

/** One red pixel. */
export const image =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='

/** `folder`: of the program, with a virtual environment in a folder for each generation. */
export function pythonClient(folder: string, generation: number): Generation {
  const python = pathIn(folder, `${generation}/.venv/bin/python`)
  return {
    command: [python, pathIn(folder, 'end_to_end.py')],
    installed: python,
    runCode: (code, key) => execute([python, '-c', code], key),
  }
}

/** `packages`: the client's own name, and the name of this generation in the package.json in `folder`. */
export function nodeClient(folder: string, [own, name = own]: readonly [string, string?]): Generation {
  return {
    command: [process.execPath, pathIn(folder, 'end-to-end.ts'), name],
    installed: pathIn(folder, `node_modules/${name}/package.json`),
    runCode(code, key) {
      const program = code.replaceAll(`'${own}'`, `'${name}'`)
      return execute([process.execPath, '--input-type=module', '--eval', program], key, pathIn(folder, ''))
    },
  }
}

function pathIn(folder: string, path: string): string {
  return fileURLToPath(new URL(`${folder}/${path}`, import.meta.url))
}

export async function execute(
  [file, ...args]: readonly [string, ...string[]],
  key: string,
  cwd?: string,
): Promise<string> {
  return (await promisify(execFile)(file, args, { env: { ...process.env, SLUICE_KEY: key }, cwd })).stdout
}

/** Starts a program; the returned function runs one scenario and resolves to its error, or null. */
function startProgram(
  t: TestContext,
  { command: [file, ...args] }: Generation,
  context: ClientTestServer,
): (family: Family, scenario: string) => Promise<string | null> {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { server, rich, poor, limited } = context
  const keys = { rich: rich.key.secret, poor: poor.key.secret, limited: limited.key.secret }
  child.stdin.write(`${JSON.stringify({ url: server.url, ...keys, toolInputs, image })}\n`)
  return async (family, scenario) => {
    child.stdin.write(`${family} ${scenario}\n`)
    const { value, done } = await lines.next()
    assert.ok(done !== true, 'the program exited')
    return JSON.parse(value) as string | null
  }
}

export function testClient(
  { title, guide, generations, sample = chatSample }: Client,
  scenarios: Readonly<Record<string, Scenario>>,
): void {
  const isInstalled = ({ installed }: Generation): boolean => existsSync(installed)
  const reason = 'not installed (.ci/run installs the locked versions in clients/)'
  describe(title, () => {
    const skip = Object.values(generations).some(isInstalled) ? false : reason
    test(`${title} – works unchanged`, { skip }, async (t) => {
      const context = await startClientTestServer(t)
      for (const [version, generation] of Object.entries(generations)) {
        const skipVersion = isInstalled(generation) ? false : reason
        await t.test(`${title} ${version} – works unchanged`, { skip: skipVersion }, async (t) => {
          await t.test('Sample of the guide – prints the response', async () => {
            for (const code of readSamples(guide, context.server.url, sample.model)) {
              const output = await generation.runCode(code, context.rich.key.secret)
              assert.equal(output.trim(), sample.output)
            }
          })
          const runScenario = startProgram(t, generation, context)
          for (const family of families) {
            for (const [name, scenario] of Object.entries(scenarios)) {
              const isMeant = (scenario.families ?? families).includes(family)
              if (!isMeant || Number(version) < (scenario.since ?? 0)) continue
              await t.test(`${family}: ${name}`, async () => {
                scenario.before?.(context, family)
                assert.equal(await runScenario(family, scenario.name), null)
                await scenario.after?.(context, family, performance.now())
              })
            }
          }
        })
      }
      await context.server.assertNoOpenHolds()
    })
  })
}
