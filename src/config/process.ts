/** Settings of the process: time zone, workers, demo mode, shutdown. */
import { availableParallelism } from 'node:os'
import { duration, InvalidSettingError, type Setting } from '../lib/setting-types.ts'

const standard = 'Asia/Shanghai'

export const processSettings = {
  timezone: {
    env: 'TIME_ZONE',
    group: 'Process',
    doc: 'The time zone of the operators’ dashboard, and the default for new accounts.',
    allowed: 'an IANA time zone such as `Europe/Berlin`',
    defaultText: standard,
    read(text: string | undefined): string {
      try {
        return new Intl.DateTimeFormat('en', { timeZone: text ?? standard }).resolvedOptions().timeZone
      } catch {
        throw new InvalidSettingError()
      }
    },
  },
  workers: {
    env: 'WORKERS',
    group: 'Process',
    doc: 'The number of worker threads that relay requests. Always one on systems other than Linux.',
    allowed: 'a whole number from 1 to 256',
    defaultText: 'number of cores',
    read(text: string | undefined): number {
      if (text === undefined) return availableParallelism()
      const value = Number(text)
      if (!/^\d+$/.test(text) || value < 1 || value > 256) throw new InvalidSettingError()
      return value
    },
  },
  demo: {
    env: 'DEMO',
    group: 'Process',
    doc: 'Demo mode: an upstream that generates deterministic text, the reference models, and an account with a key and credit. Default: on for an empty `DATA_DIR` unless `NODE_ENV=production`. A data directory that was created in demo mode stays in it.',
    allowed: '`1` or `0`',
    defaultText: 'see description',
    read(text: string | undefined): boolean | null {
      if (text === undefined) return null
      if (text !== '1' && text !== '0') throw new InvalidSettingError()
      return text === '1'
    },
  },
  production: {
    env: 'NODE_ENV',
    group: 'Process',
    doc: 'With `production`, an empty `DATA_DIR` starts without demo mode unless `DEMO=1`, and `ADMIN_API_KEY` must have at least 16 characters.',
    allowed: 'text',
    defaultText: 'none',
    read: (text: string | undefined): boolean => text === 'production',
    format: (value: boolean): string | null => (value ? 'production' : null),
  },
  drainDelayMs: {
    env: 'DRAIN_DELAY',
    group: 'Process',
    doc: 'How long the port stays open after SIGTERM while `/readyz` already returns 503.',
    ...duration('5s', 0, 600_000),
  },
  drainGraceMs: {
    env: 'DRAIN_GRACE',
    group: 'Process',
    doc: 'How long active requests may continue after `DRAIN_DELAY`. The remaining ones then end with an error and are settled exactly.',
    ...duration('300s', 0, 86_400_000),
  },
} as const satisfies Record<string, Setting<unknown>>
