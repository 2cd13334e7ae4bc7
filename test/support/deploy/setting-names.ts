/** Checks that files and documents name only settings that exist. */
import assert from 'node:assert/strict'
import { settings } from '../../../src/config.ts'

/** With those that name the file of a secret. */
export const settingNames = new Set<string>(
  Object.values(settings).flatMap((each) => ('secret' in each ? [each.env, `${each.env}_FILE`] : each.env)),
)
/** Variables that Node itself reads. */
const nodeVariables = new Set(['NODE_ENV', 'NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS'])

export function assertSettings(names: Iterable<string>, where: string): void {
  for (const name of names)
    assert.ok(settingNames.has(name) || nodeVariables.has(name), `${where}: ${name} is not a setting`)
}
