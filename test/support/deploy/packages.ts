/** Builds, lists and starts the packages of `npm run package`. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

import { freePort } from '../upstream/unreachable-addresses.ts'

export function createFolder(): string {
  return mkdtempSync(join(tmpdir(), 'sluice-packages-'))
}

/** Builds these packages, or all, from a copy of the sources as `npm run package` does; returns their folder. */
export function buildPackages(sources: string, ...names: string[]): string {
  const folder = createFolder()
  const args = ['--no-warnings', 'bin/package.ts', '--output', folder, ...names]
  execFileSync(process.execPath, args, { cwd: sources, stdio: 'pipe' })
  return folder
}

/** The entries of an archive without its top folder, each with its mode, as `-rw-r--r-- bin/sluice`. */
export function listArchive(path: string): string[] {
  const text = execFileSync('tar', ['-tvzf', path], { encoding: 'utf8', maxBuffer: 1 << 26 })
  return Array.from(
    text.matchAll(/^(\S+) .* \d\d:\d\d [^/\n]+\/(.*)$/gm),
    ([, mode, name]) => `${mode} ${name}`,
  )
}

/** The programs of the machine, and nothing else in the PATH. The last Node.js in our PATH is the system's. */
export function createPath(...programs: string[]): string {
  const folder = join(createFolder(), 'bin')
  mkdirSync(folder)
  for (const program of programs) {
    const found = (process.env['PATH'] ?? '').split(':').map((each) => join(each, program))
    symlinkSync(realpathSync(found.findLast((each) => existsSync(each)) ?? program), join(folder, program))
  }
  return folder
}

export interface Demonstration {
  readonly url: string
  /** Everything that it printed until it was ready. */
  readonly output: string
  /** SIGTERM to all its processes; resolves when they have exited. */
  stop(): Promise<void>
}

/** Runs a command that starts the demonstration, and waits until it has said what to try. */
export async function startDemonstration(
  t: TestContext,
  [program = '', ...args]: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<Demonstration> {
  const port = String(await freePort())
  const child = spawn(program, args, { cwd, env: { ...env, PORT: port, DRAIN_DELAY: '0s' }, detached: true })
  const exited = once(child, 'close')
  const signal = (name: NodeJS.Signals): boolean =>
    child.exitCode !== null || process.kill(-(child.pid ?? 0), name)
  t.after(async () => {
    signal('SIGKILL')
    await exited
  })
  const lines: string[] = []
  const ready = new Promise<boolean>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on('line', (line) => {
        lines.push(line)
        if (line.startsWith('curl ') && line.includes('/balance')) resolve(true)
      })
  })
  assert.ok(await Promise.race([ready, exited.then(() => false)]), lines.join('\n'))
  return {
    url: `http://localhost:${port}`,
    output: lines.join('\n'),
    stop: async () => {
      signal('SIGTERM')
      await exited
    },
  }
}

/** Makes the calls that the demonstration prints, and checks the response and the balance. */
export async function assertFirstCall({ output }: Demonstration): Promise<void> {
  const [, url = '', authorization = '', body] =
    /^curl -N (\S+) -H 'Authorization: (.+?)' .* -d '(.+)'$/m.exec(output) ?? []
  const headers = { authorization, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: body ?? '' })
  assert.match(await response.text(), /data: \[DONE\]\s*$/)
  const balance = await fetch(/^curl (\S+\/balance)/m.exec(output)?.[1] ?? '', { headers })
  assert.match(await balance.text(), /"9\.999822"/)
}
