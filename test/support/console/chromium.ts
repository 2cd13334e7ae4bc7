/** Debian's chromium, for the tests of the console and for the pictures of the READMEs. */
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

/** Undefined if it is not installed. */
export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)

/** `timeoutMs`: for its start. */
export function launchChromium(timeoutMs: number, args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage', ...args],
    timeout: timeoutMs,
  })
}
