/** Settings of TLS by the relay itself. */
import { NotAllowed, type Environment, type Setting } from '../lib/setting-types.ts'

function fileBeside(other: string) {
  return {
    allowed: `a path; together with \`${other}\``,
    standard: 'none',
    read(text: string | undefined, environment: Environment): string | null {
      if ((text === undefined) !== (environment[other] === undefined)) throw new NotAllowed()
      return text ?? null
    },
  }
}

export const tlsSettings = {
  tlsCertFile: {
    env: 'TLS_CERT_FILE',
    group: 'Where it listens',
    doc: 'A certificate with its chain (PEM): with it and its key the port speaks HTTPS. Both files are read again when they change.',
    ...fileBeside('TLS_KEY_FILE'),
  },
  tlsKeyFile: {
    env: 'TLS_KEY_FILE',
    group: 'Where it listens',
    doc: 'The private key of the certificate (PEM).',
    ...fileBeside('TLS_CERT_FILE'),
  },
} as const satisfies Record<string, Setting<unknown>>
