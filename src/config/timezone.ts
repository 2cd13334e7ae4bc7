/** The setting of the zone whose days and months count where nobody has said otherwise. */
import { NotAllowed, type Setting } from '../lib/setting-types.ts'

const standard = 'Asia/Shanghai'

export const timezoneSettings = {
  timezone: {
    env: 'TIME_ZONE',
    group: 'Running',
    doc: 'Whose days and months the operators’ dashboard counts, and which zone new accounts have unless they are given one.',
    allowed: 'an IANA time zone such as `Europe/Berlin`',
    standard,
    read(text: string | undefined): string {
      try {
        return new Intl.DateTimeFormat('en', { timeZone: text ?? standard }).resolvedOptions().timeZone
      } catch {
        throw new NotAllowed()
      }
    },
  },
} as const satisfies Record<string, Setting<unknown>>
