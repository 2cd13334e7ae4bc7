/** The results of the doctor's checks. */

export interface Finding {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** How to fix it. */
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
