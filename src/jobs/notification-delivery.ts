/**
 * Delivers notifications to their channels: a job on the main thread that reads and writes through the store's threads and
 * waits only for the network. One run at a time; failed deliveries are retried.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { brandedSender } from '../branding/branded-email.ts'
import type { CurrentBranding } from '../branding/branding.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { errorMessage } from '../lib/error-message.ts'
import type { Log } from '../lib/log.ts'
import { createEmailSender } from '../lib/email.ts'
import type { Sealer } from '../lib/encryption.ts'
import { channelById, loadChannelTarget } from '../notifications/channels.ts'
import { PeriodicJob } from './periodic-job.ts'
import { renderMessage } from '../notifications/render-message.ts'
import {
  accountOfEmailChannel,
  dueMessages,
  deleteOldMessages,
  createMessages,
  recordAttempt,
  notificationsInMessage,
  queueNotifications,
  type DueMessage,
} from '../notifications/outbox.ts'
import { languages, type Language } from '../notifications/locales/notification-texts.ts'
import { HttpSender, sendMessage, type DeliveryResult, type SendContext } from '../notifications/send.ts'

export interface NotificationDeliveryDeps {
  readonly db: Db
  readonly sealer: Sealer
  readonly log: Log
  readonly branding: CurrentBranding
  readonly config: Pick<Config, 'smtpUrl' | 'mailFrom' | 'noticeLanguage' | 'noticePauseMs' | 'channelAllow'>
}

const deliverEveryMs = 1000
/** A slow mail server must not delay the shutdown. */
const closeTimeoutMs = 2000
const deleteOldEveryMs = 3_600_000
/** Concurrent deliveries; a receiver that does not respond delays only its own. */
const maxConcurrent = 32

export class NotificationDelivery extends PeriodicJob {
  readonly #deps: NotificationDeliveryDeps
  readonly #context: SendContext & { readonly http: HttpSender }
  readonly #sending = new Map<string, Promise<void>>()
  #nextDeleteAt = 0

  constructor(deps: NotificationDeliveryDeps) {
    super(deliverEveryMs)
    this.#deps = deps
    const { smtpUrl, mailFrom, channelAllow } = deps.config
    this.#context = {
      http: new HttpSender(parseCidrs(channelAllow.join(','))),
      mailer: smtpUrl === null ? null : createEmailSender(smtpUrl, mailFrom),
      now: Date.now,
    }
  }

  /** Aborts running deliveries: the next start sends them again, with the same id. */
  override async close(): Promise<void> {
    const closed = super.close()
    await this.#context.http[Symbol.asyncDispose]()
    await closed
    await Promise.race([
      Promise.all(this.#sending.values()),
      pause(closeTimeoutMs, undefined, { ref: false }),
    ])
  }

  protected async run(): Promise<void> {
    const { db, config } = this.#deps
    const now = Date.now()
    while (!this.isClosed && (await queueNotifications(db, this.#context.mailer !== null)));
    await createMessages(db, now - config.noticePauseMs)
    const due = await dueMessages(db, now, maxConcurrent)
    for (const message of due) this.#startSending(message)
    if (now < this.#nextDeleteAt) return
    this.#nextDeleteAt = now + deleteOldEveryMs
    await deleteOldMessages(db, now)
  }

  protected onError(error: unknown): void {
    this.#deps.log.warn({ err: error }, 'notification run failed')
  }

  #startSending(due: DueMessage): void {
    if (this.isClosed || this.#sending.size >= maxConcurrent || this.#sending.has(due.id)) return
    const sending = this.#send(due)
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'recording a notification delivery failed'),
      )
      .finally(() => this.#sending.delete(due.id))
    this.#sending.set(due.id, sending)
  }

  async #send(due: DueMessage): Promise<void> {
    const { db, log } = this.#deps
    const result = await this.#attempt(due)
    // A delivery that was aborted at shutdown has not failed.
    if (this.isClosed && result.problem !== null) return
    if (result.problem !== null)
      log.warn(
        { channel: due.channelId, message: due.id, why: result.problem },
        'notification delivery failed',
      )
    await recordAttempt(db, due, result)
  }

  async #attempt({ id, channelId }: DueMessage): Promise<DeliveryResult> {
    const { db, sealer } = this.#deps
    try {
      const notifications = await notificationsInMessage(db, id)
      const account = accountOfEmailChannel(channelId)
      if (account !== null) {
        const { address, language } = await this.#emailTargetOf(account)
        const message = renderMessage(id, notifications, language)
        return await sendMessage(
          this.#contextFor(language),
          'email',
          { address, secret: null, server: null },
          message,
        )
      }
      const { kind, language, enabled } = await channelById(db, channelId)
      if (!enabled) return { problem: 'The channel is disabled.', retryAfterMs: null }
      const target = await loadChannelTarget(db, sealer, channelId)
      const message = renderMessage(id, notifications, language)
      return await sendMessage(this.#contextFor(language), kind, target, message)
    } catch (error) {
      return { problem: errorMessage(error), retryAfterMs: null }
    }
  }

  #contextFor(language: Language): SendContext {
    const { mailer } = this.#context
    const { current } = this.#deps.branding
    return { ...this.#context, mailer: mailer && brandedSender(mailer, current, language) }
  }

  /** The e-mail address of an account, and the language of its user. */
  async #emailTargetOf(account: string): Promise<{ address: string; language: Language }> {
    const { db, config } = this.#deps
    const query = sql
      .selectFrom('accounts')
      .leftJoin('persons', 'persons.account_id', 'accounts.id')
      .select(['accounts.email', 'persons.language'])
      .where('accounts.id', '=', account)
    const row = await db.first(query)
    if (row === undefined) throw new Error('The account was deleted.')
    const known = languages.find((language) => language === row.language)
    return { address: row.email, language: known ?? config.noticeLanguage }
  }
}
