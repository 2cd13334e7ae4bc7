/** What the start prints for people: where the relay is, and a call to paste. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { consoleFolder, howToBuild } from '../http/console-files.ts'
import type { Demo } from './demo.ts'

/** The address under which callers reach the relay. */
export function addressOf(config: Config): string {
  if (config.publicUrl !== null) return config.publicUrl
  const anywhere = config.host === '0.0.0.0' || config.host === '::'
  const host = anywhere ? '127.0.0.1' : config.host
  return `http://${host.includes(':') ? `[${host}]` : host}:${config.port}`
}

export function printWelcome(config: Config, demo: Demo | null): void {
  const address = addressOf(config)
  const isBuilt = existsSync(join(consoleFolder, 'index.html'))
  const lines = [
    '',
    `  Sluice is ready.   ${address}/v1`,
    `  Health ${address}/readyz   Interface ${address}/openapi.json`,
    isBuilt ? `  Console ${address}/console/` : `  No console: ${howToBuild}.`,
  ]
  if (demo) {
    const body = JSON.stringify({
      model: demo.model,
      stream: true,
      messages: [{ role: 'user', content: 'Hello!' }],
    })
    lines.push(
      '',
      '  This is a demonstration: its upstream writes fixed text. Try it:',
      '',
      `curl -N ${address}/v1/chat/completions -H 'Authorization: Bearer ${demo.key}' -H 'Content-Type: application/json' -d '${body}'`,
      '',
      '  And see the balance fall by exactly its price:',
      '',
      `curl ${address}/v1/balance -H 'Authorization: Bearer ${demo.key}'`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n\n`)
}
