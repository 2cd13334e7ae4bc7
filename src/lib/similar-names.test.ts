import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { settings } from '../config.ts'
import { findSimilarName } from './similar-names.ts'

const names = Object.values(settings).map(({ env }) => env)

describe('findSimilarName', () => {
  test('misspelled setting – is found by insertions, deletions, replacements and swaps', () => {
    const misspelled: Record<string, string> = {
      TRUSTED_PROXY: 'TRUST_PROXY',
      BACKUP_EVRY: 'BACKUP_EVERY',
      DATABSE_URL: 'DATABASE_URL',
      DATABASE_URI: 'DATABASE_URL',
      ENCRPYTION_KEY: 'ENCRYPTION_KEY',
      DATADIR: 'DATA_DIR',
      PROT: 'PORT',
    }
    for (const [name, setting] of Object.entries(misspelled))
      assert.equal(findSimilarName(name, names), setting)
  })

  test('other programs’ variables – are not taken for settings', () => {
    const others =
      'PATH HOME PWD OLDPWD SHELL TERM LANG TZ USER LOGNAME MAIL HOSTNAME EDITOR NODE_OPTIONS NODE_EXTRA_CA_CERTS ' +
      'NODE_COMPILE_CACHE INIT_CWD COLOR INVOCATION_ID JOURNAL_STREAM KUBERNETES_PORT SLUICE_PORT REDIS_PORT ' +
      'UPSTREAM_CREDENTIAL LS_COLORS SSH_TTY XDG_DATA_DIRS SSL_CERT_FILE DBUS_SESSION_BUS_ADDRESS TMPDIR'
    for (const name of others.split(' ')) assert.equal(findSimilarName(name, names), undefined, name)
  })
})
