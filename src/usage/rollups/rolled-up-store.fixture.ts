/** Opens a store for one test that keeps the roll-ups as in production. */

import type { TestContext } from 'node:test'
import { openAnyStore, type TestStore } from '../../db/store.fixture.ts'

export function openRolledUpStore(t: TestContext): Promise<TestStore> {
  return openAnyStore(t, { maintenanceModule: new URL('./rollup.ts', import.meta.url) })
}
