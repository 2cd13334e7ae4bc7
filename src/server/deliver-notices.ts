/**
 * Brings notices to their channels: a job beside everything else on the main thread, which reads and writes through the
 * threads of the store and waits for nobody but the network. One round at a time; what fails comes again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { errorWords } from '../lib/error-message.ts'
import type { Log } from '../lib/log.ts'
import { mailerFor } from '../lib/email.ts'
import type { Sealer } from '../lib/encryption.ts'
import { channelById, openChannel } from '../notifications/channels.ts'
import { messageOf } from '../notices/message.ts'
import {
  accountOfMail,
  dueMessages,
  forgetMessages,
  gatherMessages,
  noteAttempt,
  noticesIn,
  queueNotices,
  type DueMessage,
} from '../notifications/outbox.ts'
import { languages, type Language } from '../notifications/locales/notification-texts.ts'
import { HttpSender, sendMessage, type Attempted, type SendMeans } from '../notices/send.ts'

export interface NoticeDeliveryParts {
  readonly db: Db
  readonly sealer: Sealer
  readonly log: Log
  readonly config: Pick<Config, 'smtpUrl' | 'mailFrom' | 'noticeLanguage' | 'noticePauseMs' | 'channelAllow'>
}

const roundEveryMs = 1000
/** A mail server that is slow must not hold up the end. */
const farewellMs = 2000
const forgetEveryMs = 3_600_000
/** Messages under way at once; a receiver that says nothing holds up its own alone. */
const mostAtOnce = 32

export class NoticeDelivery {
  readonly #parts: NoticeDeliveryParts
  readonly #means: SendMeans & { readonly http: HttpSender }
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> = Promise.resolve()
  readonly #sending = new Map<string, Promise<void>>()
  #isOver = false
  #forgetAt = 0

  constructor(parts: NoticeDeliveryParts) {
    this.#parts = parts
    const { smtpUrl, mailFrom, channelAllow } = parts.config
    this.#means = {
      http: new HttpSender(parseCidrs(channelAllow.join(','))),
      mailer: smtpUrl === null ? null : mailerFor(smtpUrl, mailFrom),
      now: Date.now,
    }
    this.#later()
  }

  /** What is under way is given up: it is sent again, with its id, by the next start. */
  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#means.http.close()
    await this.#round
    await Promise.race([Promise.all(this.#sending.values()), pause(farewellMs, undefined, { ref: false })])
  }

  #later(): void {
    if (this.#isOver) return
    this.#timer = setTimeout(() => {
      this.#round = this.#work().then(() => this.#later())
    }, roundEveryMs)
    this.#timer.unref()
  }

  async #work(): Promise<void> {
    const { db, log, config } = this.#parts
    const now = Date.now()
    try {
      while (!this.#isOver && (await queueNotices(db, this.#means.mailer !== null)));
      await gatherMessages(db, now - config.noticePauseMs)
      const due = await dueMessages(db, now, mostAtOnce)
      for (const message of due) this.#begin(message)
      if (now < this.#forgetAt) return
      this.#forgetAt = now + forgetEveryMs
      await forgetMessages(db, now)
    } catch (error) {
      log.warn({ err: error }, 'notices could not be delivered')
    }
  }

  #begin(due: DueMessage): void {
    if (this.#isOver || this.#sending.size >= mostAtOnce || this.#sending.has(due.id)) return
    const sending = this.#send(due)
      .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'an attempt could not be noted'))
      .finally(() => this.#sending.delete(due.id))
    this.#sending.set(due.id, sending)
  }

  async #send(due: DueMessage): Promise<void> {
    const { db, log } = this.#parts
    const attempted = await this.#attempt(due)
    // At the end, what was given up has not failed.
    if (this.#isOver && attempted.problem !== null) return
    if (attempted.problem !== null)
      log.warn({ channel: due.channelId, message: due.id, why: attempted.problem }, 'a message was not taken')
    await noteAttempt(db, due, attempted)
  }

  async #attempt({ id, channelId }: DueMessage): Promise<Attempted> {
    const { db, sealer } = this.#parts
    try {
      const notices = await noticesIn(db, id)
      const account = accountOfMail(channelId)
      if (account !== null) {
        const { address, language } = await this.#mailOf(account)
        const message = messageOf(id, notices, language)
        return await sendMessage(this.#means, 'email', { address, secret: null, server: null }, message)
      }
      const { kind, language, enabled } = await channelById(db, channelId)
      if (!enabled) return { problem: 'The channel is switched off.', retryAfterMs: null }
      const target = await openChannel(db, sealer, channelId)
      return await sendMessage(this.#means, kind, target, messageOf(id, notices, language))
    } catch (error) {
      return { problem: errorWords(error), retryAfterMs: null }
    }
  }

  /** Where an account's mail goes, and in which language its person reads. */
  async #mailOf(account: string): Promise<{ address: string; language: Language }> {
    const { db, config } = this.#parts
    const query = sql
      .selectFrom('accounts')
      .leftJoin('persons', 'persons.account_id', 'accounts.id')
      .select(['accounts.email', 'persons.language'])
      .where('accounts.id', '=', account)
    const row = await db.first(query)
    if (row === undefined) throw new Error('The account is no more.')
    const known = languages.find((language) => language === row.language)
    return { address: row.email, language: known ?? config.noticeLanguage }
  }
}
