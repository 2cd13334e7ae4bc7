/** What the start prints for operators: the URLs of the relay, and a request to paste. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { consoleFolder, buildInstructions } from '../http/static-files.ts'
import { baseUrlsOf, publicUrlOf } from '../http/public-urls.ts'
import type { Demo } from './demo/demo.ts'

/** `setupLink`: a link that creates the first operator; `null` if there is one. */
export function printStartupBanner(config: Config, demo: Demo | null, setupLink: string | null): void {
  const address = publicUrlOf(config)
  const isBuilt = existsSync(join(consoleFolder, 'index.html'))
  const lines = [
    '',
    `  Sluice is ready.   ${address}/v1`,
    `  Health ${address}/readyz   API ${address}/openapi.json`,
    isBuilt ? `  Console ${address}/console/` : `  No console: ${buildInstructions}.`,
  ]
  const others = baseUrlsOf(config).slice(1)
  if (others.length > 0) lines.push(`  Also at ${others.join(', ')}`)
  if (config.statusPage) lines.push(`  Status ${address}/status`)
  if (setupLink !== null) {
    lines.push(
      '',
      '  No operator is set up yet. Open this one-time link to create one:',
      '',
      `  ${setupLink}`,
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
      '  This is a demonstration with an upstream that returns fixed text. Try it:',
      '',
      `curl -N ${address}/v1/chat/completions -H 'Authorization: Bearer ${demo.key}' -H 'Content-Type: application/json' -d '${body}'`,
      '',
      '  Then check that the balance fell by exactly the price:',
      '',
      `curl ${address}/v1/balance -H 'Authorization: Bearer ${demo.key}'`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n\n`)
}
