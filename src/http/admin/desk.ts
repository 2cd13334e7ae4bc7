/** What every call of the automation contract works with: the house, and in whose name it acts. */
import type { Changed } from '../../db/change.ts'
import type { House } from '../house.ts'

export interface Desk {
  readonly house: House
  /** The actor, as the audit log names it. */
  readonly by: string
}

/** Tells every thread what a write has changed, then gives back what the write gave: nobody hears of it before. */
export async function announced<Value>(desk: Desk, written: Promise<Changed<Value>>): Promise<Value> {
  const { value, changes } = await written
  await desk.house.announce(changes)
  return value
}
