import assert from 'node:assert/strict'
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { createSealer, SealError } from '../lib/encryption.ts'
import { readKeyFile } from '../lib/key-file.ts'
import { auditStatement } from './audit.ts'
import {
  activateNewKey,
  beginRotation,
  finishRotation,
  prepareResumption,
  RotationError,
} from './data-key-rotation.ts'
import { findKeyFileSecret, findOpeningSecret, openDataKeys, type SecretSources } from './data-keys.ts'
import { createTemporaryDir, openTemporaryStore } from './store.fixture.ts'

const [oldKey, newKey] = ['the old passphrase', 'the new passphrase']
const audit = auditStatement('tests', 'encryption_key.rotate', 'encryption_key')

function sources(dataDir: string, encryptionKey?: string, encryptionKeyPrevious?: string): SecretSources {
  return {
    dataDir,
    databaseUrl: null,
    encryptionKey: encryptionKey ?? null,
    encryptionKeyPrevious: encryptionKeyPrevious ?? null,
  }
}

async function open(t: TestContext, encryptionKey?: string) {
  const { db, dataDir } = await openTemporaryStore(t)
  const { bytes } = await openDataKeys(db, sources(dataDir, encryptionKey))
  return { db, dataDir, first: Buffer.from(bytes) }
}

describe('openDataKeys', () => {
  test('data key – is created once, opens with its secret and moves to ENCRYPTION_KEY', async (t) => {
    const { db, dataDir, first } = await open(t)
    const opened = async (secrets: SecretSources): Promise<Buffer> =>
      Buffer.from((await openDataKeys(db, secrets)).bytes)
    assert.deepEqual(await opened(sources(dataDir, '')), first)
    assert.equal(await findKeyFileSecret(db, dataDir), readKeyFile(dataDir))
    assert.deepEqual(await opened(sources(dataDir, oldKey)), first)
    assert.equal(await findKeyFileSecret(db, dataDir), undefined, 'a backup names ENCRYPTION_KEY')
    const elsewhere = createTemporaryDir(t)
    assert.deepEqual(await opened(sources(elsewhere, oldKey)), first)
    assert.deepEqual(await opened(sources(elsewhere, newKey, oldKey)), first)
    await assert.rejects(opened(sources(elsewhere)), /ENCRYPTION_KEY is not set/)
    await assert.rejects(
      opened(sources(elsewhere, newKey)),
      /^SealError: ENCRYPTION_KEY does not decrypt .* set ENCRYPTION_KEY_PREVIOUS to the one before it\.$/,
    )
    await assert.rejects(
      opened(sources(elsewhere, newKey, newKey)),
      /^SealError: None of ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS decrypts the stored credentials\.$/,
    )
  })
})

describe('key rotation', () => {
  test('ENCRYPTION_KEY – both keys open until the rotation is finished, then only the new one', async (t) => {
    const { db, first } = await open(t, oldKey)
    const elsewhere = createTemporaryDir(t)
    const both = sources(elsewhere, newKey, oldKey)
    const key = 'ENCRYPTION_KEY'
    const opens = (...keys: string[]) => findOpeningSecret(db, sources(elsewhere, ...keys))
    await assert.rejects(beginRotation(db, sources(elsewhere, oldKey)), RotationError)
    assert.equal(await beginRotation(db, both), true)
    const distributing = await openDataKeys(db, both)
    assert.equal(distributing.isNewestReadOnly, true)
    assert.deepEqual(Buffer.from(distributing.bytes.subarray(0, 32)), first)
    assert.deepEqual([await opens(oldKey), await opens(newKey)], [key, key])
    await activateNewKey(db, both)
    await activateNewKey(db, both)
    assert.equal((await openDataKeys(db, both)).isNewestReadOnly, false)
    assert.equal(await beginRotation(db, both), true, 'resumes')
    assert.deepEqual((await openDataKeys(db, sources(elsewhere, oldKey))).bytes, distributing.bytes)
    await assert.rejects(prepareResumption(db, sources(elsewhere, oldKey)), /A rotation to another key/)
    await finishRotation(db, both, audit)
    await finishRotation(db, both, audit)
    assert.deepEqual([await opens(oldKey), await opens(newKey)], [undefined, key])
    await assert.rejects(openDataKeys(db, sources(elsewhere, oldKey)), /The key was rotated at \d{4}-/)
    assert.deepEqual((await openDataKeys(db, both)).bytes, distributing.bytes)
    assert.equal(await beginRotation(db, both), false, 'nothing is left to rotate')
  })

  test('rotation – can be undone before it is finished, and can be repeated', async (t) => {
    const { db, dataDir } = await open(t, oldKey)
    await beginRotation(db, sources(dataDir, newKey, oldKey))
    const back = sources(dataDir, oldKey, newKey)
    await prepareResumption(db, back)
    await activateNewKey(db, back)
    await finishRotation(db, back, audit)
    assert.equal(await findOpeningSecret(db, sources(dataDir, newKey)), undefined)
    const again = sources(dataDir, newKey, oldKey)
    const before = createSealer((await openDataKeys(db, again)).bytes).seal('secret', 'ups_1')
    assert.equal(await beginRotation(db, again), true)
    await activateNewKey(db, again)
    await finishRotation(db, again, audit)
    const { bytes } = await openDataKeys(db, sources(dataDir, newKey))
    assert.equal(createSealer(bytes).unseal(before, 'ups_1'), 'secret')
    assert.equal(bytes.length, 64)
  })

  test('key file – is replaced when the rotation is finished, also after a crash before that', async (t) => {
    const { db, dataDir } = await open(t)
    const keyFile = sources(dataDir)
    const old = readKeyFile(dataDir)
    await beginRotation(db, keyFile)
    await activateNewKey(db, keyFile)
    assert.equal(readKeyFile(dataDir), old)
    await finishRotation(db, keyFile, audit)
    assert.notEqual(readKeyFile(dataDir), old)
    assert.equal(await findKeyFileSecret(db, dataDir), readKeyFile(dataDir))
    assert.equal(readdirSync(dataDir).filter((name) => name.startsWith('sealing.key.until-')).length, 1)
    const copy = createTemporaryDir(t)
    renameSync(join(dataDir, 'sealing.key'), join(copy, 'sealing.key.next'))
    await openDataKeys(db, sources(copy))
    assert.ok(readKeyFile(copy))
    assert.equal(existsSync(join(copy, 'sealing.key.next')), false)
  })

  test('key file of a relay that has an ENCRYPTION_KEY since then – is retired', async (t) => {
    const { db, dataDir } = await open(t)
    const withKey = sources(dataDir, newKey)
    await openDataKeys(db, withKey)
    assert.equal(await beginRotation(db, withKey), true)
    await prepareResumption(db, withKey)
    await activateNewKey(db, withKey)
    await finishRotation(db, withKey, audit)
    assert.equal(readKeyFile(dataDir), undefined)
    assert.equal(await findOpeningSecret(db, withKey), 'ENCRYPTION_KEY')
    await assert.rejects(openDataKeys(db, sources(dataDir)), SealError)
  })
})
