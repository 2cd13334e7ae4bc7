/**
 * What the start prints for operators. A terminal gets the URLs of the relay and a link to set it up. Elsewhere, standard
 * output leads to log collectors: it carries JSON lines only, and the link is in a file that only this user can read. The
 * text of a demonstration, which is not for production, is printed everywhere.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { consoleFolder, buildInstructions } from '../http/static-files.ts'
import { baseUrlsOf, consoleLink, publicUrlOf } from '../http/public-urls.ts'
import type { Log } from '../lib/log.ts'
import { createOperatorLink } from '../users/access-links.ts'
import { hasOperator } from '../users/users.ts'
import type { Demo } from './demo/demo.ts'
import { setupLinkFileName } from './setup-link-file.ts'

/** A new link that creates the first operator: its text on a terminal, otherwise the path of its file. */
export interface SetupLink {
  readonly kind: 'link' | 'file'
  readonly text: string
}

/** `null` if there is an operator. */
export async function createSetupLink(config: Config, db: Db): Promise<SetupLink | null> {
  const file = resolve(config.dataDir, setupLinkFileName)
  // Of an earlier start.
  rmSync(file, { force: true })
  if (await hasOperator(db)) return null
  const { token } = await createOperatorLink(db, null)
  const link = consoleLink(config, 'set-up', token)
  if (process.stdout.isTTY) return { kind: 'link', text: link }
  writeFileSync(file, `${link}\n`, { mode: 0o600, flag: 'wx' })
  return { kind: 'file', text: file }
}

function setupLines({ kind, text }: SetupLink): string[] {
  const instruction =
    kind === 'link'
      ? 'Open this one-time link to create one:'
      : 'A one-time link to create one is in this file:'
  return ['', `  No operator is set up yet. ${instruction}`, '', `  ${text}`]
}

function demoLines({ key, model }: Demo, address: string): string[] {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello!' }] })
  return [
    '',
    '  This is a demonstration with an upstream that returns fixed text. Try it:',
    '',
    `curl -N ${address}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
    '  Then check that the balance fell by exactly the price:',
    '',
    `curl ${address}/v1/balance -H 'Authorization: Bearer ${key}'`,
  ]
}

export function announceStart(
  config: Config,
  { demo, setupLink, log }: { demo: Demo | null; setupLink: SetupLink | null; log: Log },
): void {
  if (setupLink?.kind === 'file') {
    log.info({ file: setupLink.text }, 'no operator yet: open the one-time link in this file')
  }
  const isConsoleBuilt = existsSync(join(consoleFolder, 'index.html'))
  if (!isConsoleBuilt) log.warn({ advice: buildInstructions }, 'the console is not built')
  if (!process.stdout.isTTY && demo === null) return
  const address = publicUrlOf(config)
  const others = baseUrlsOf(config).slice(1)
  const lines = [
    '',
    `  Sluice is ready.   ${address}/v1`,
    `  Health ${address}/readyz   API ${address}/openapi.json`,
    isConsoleBuilt ? `  Console ${address}/console/` : `  No console: ${buildInstructions}.`,
    ...(others.length > 0 ? [`  Also at ${others.join(', ')}`] : []),
    ...(config.statusPage ? [`  Status ${address}/status`] : []),
    ...(setupLink === null ? [] : setupLines(setupLink)),
    ...(demo === null ? [] : demoLines(demo, address)),
  ]
  process.stdout.write(`${lines.join('\n')}\n\n`)
}
