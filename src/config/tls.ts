/** Settings for TLS in the relay itself. */
import { InvalidSettingError, type Environment, type Setting } from '../lib/setting-types.ts'

function filePairedWith(other: string) {
  return {
    allowed: `a path, together with \`${other}\``,
    defaultText: 'none',
    read(text: string | undefined, environment: Environment): string | null {
      if ((text === undefined) !== (environment[other] === undefined)) throw new InvalidSettingError()
      return text ?? null
    },
  }
}

export const tlsSettings = {
  tlsCertFile: {
    env: 'TLS_CERT_FILE',
    group: 'Network',
    doc: 'The TLS certificate with its chain (PEM). With it and its key, the port serves HTTPS. Both files are reloaded when they change.',

    ...filePairedWith('TLS_KEY_FILE'),
  },
  tlsKeyFile: {
    env: 'TLS_KEY_FILE',
    group: 'Network',
    doc: 'The private key of the certificate (PEM).',
    ...filePairedWith('TLS_CERT_FILE'),
  },
} as const satisfies Record<string, Setting<unknown>>
