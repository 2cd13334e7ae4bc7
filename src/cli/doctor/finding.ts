/** What the doctor's checks give: one line each, and what to do about it. */

export interface Finding {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  /** What is so. */
  readonly detail: string
  /** What to do; only where something is to be done. */
  readonly advice?: string
}

export function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail }
}

export function warn(name: string, detail: string, advice: string): Finding {
  return { name, state: 'warn', detail, advice }
}

export function fail(name: string, detail: string, advice: string): Finding {
  return { name, state: 'fail', detail, advice }
}
