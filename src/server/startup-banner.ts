/** What the start prints for people: where the relay is, and a call to paste. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { consoleFolder, howToBuild } from '../http/static-files.ts'
import { baseUrlsOf, publicAddressOf } from '../http/public-urls.ts'
import type { Demo } from './demo/demo.ts'

/** `setUpLink`: where nobody runs the relay yet. */
export function printWelcome(config: Config, demo: Demo | null, setUpLink: string | null): void {
  const address = publicAddressOf(config)
  const isBuilt = existsSync(join(consoleFolder, 'index.html'))
  const lines = [
    '',
    `  Sluice is ready.   ${address}/v1`,
    `  Health ${address}/readyz   Interface ${address}/openapi.json`,
    isBuilt ? `  Console ${address}/console/` : `  No console: ${howToBuild}.`,
  ]
  const others = baseUrlsOf(config).slice(1)
  if (others.length > 0) lines.push(`  Also at ${others.join(', ')}`)
  if (config.statusPage) lines.push(`  Status ${address}/status`)
  if (setUpLink !== null) {
    lines.push(
      '',
      '  Nobody runs this relay yet. Open this once to become its operator:',
      '',
      `  ${setUpLink}`,
    )
  }
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
