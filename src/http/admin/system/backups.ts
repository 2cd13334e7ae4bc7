/** `/backups`: online backups of all data: create, check, download, delete. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin, confirmationRule, requireConfirmation, type AdminContext } from '../admin-context.ts'
import { auditStatement } from '../../../db/audit.ts'
import { tarSize, createTar } from '../../../lib/tar.ts'
import type { Backup } from '../../../db/backups.ts'
import { time } from '../schemas.ts'

export const backupSchema = z
  .object({
    id: z.string(),
    state: z.enum(['making', 'whole', 'checking', 'damaged', 'failed']).meta({
      description: '“damaged”: a check found that it cannot be restored. “failed”: it could not be created.',
    }),
    made_at: time,
    by: z
      .string()
      .nullable()
      .meta({ description: 'Who created it; “schedule”: created automatically, see BACKUP_EVERY.' }),
    bytes: z.int().nullable(),
    accounts: z.int().nullable(),
    entries: z.int().nullable(),
    last_commit: z.int().nullable(),
    version: z.string().nullable().meta({ description: 'The release that created it.' }),
    sealed_by: z.enum(['key file', 'ENCRYPTION_KEY']).nullable().meta({
      description: 'What decrypts the credentials in it. A download contains neither.',
    }),
    checked_at: time.nullable().meta({
      description: 'When it was last read in full and its ledger recomputed; initially, when it was created.',
    }),
    problem: z.string().nullable(),
    progress: z
      .object({
        step: z.enum(['copying', 'comparing', 'recomputing']),
        percent: z.int().nullable(),
      })
      .nullable()
      .meta({ description: 'Present while it is being created or checked.' }),
  })
  .openapi('Backup')
export const scheduleSchema = z.object({
  every_ms: z.int().nullable().meta({ description: 'The interval of scheduled backups; null: none.' }),
  kept: z.int(),
  folder: z.string().meta({ description: 'The directory on the machine of the relay.' }),
})

const noContent = { accounts: null, entries: null, lastCommit: null, version: null, sealedBy: null }

function serializeBackup({ content, step, ...backup }: Backup): z.infer<typeof backupSchema> {
  return {
    ...jsonFields(content ?? noContent),
    ...jsonFields(backup),
    bytes: content?.files.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
    progress: step === null ? null : { step: step.doing, percent: step.percent },
  }
}

const backupView = view('backup', backupSchema, serializeBackup)

/** Reads only as fast as the client does; a disconnect closes the file. */
function toReadableStream(
  chunks: AsyncGenerator<Uint8Array<ArrayBuffer>, void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

async function audit(action: string, id: string, { ctx, by }: AdminContext): Promise<void> {
  await ctx.db.write(auditStatement(by, `backup.${action}`, id))
}

export const backupEndpoints = [
  admin.get('/backups', {
    summary: 'List backups, newest first, including those in progress',
    query: {},
    response: z.object({ data: z.array(backupSchema), next: z.null(), schedule: scheduleSchema }),
    returns: 'All backups, and the schedule.',
    async handle({ ctx: { backups, config } }) {
      const { backupEveryMs, backupsKept, backupDir } = config
      const schedule = {
        every_ms: backupEveryMs === 0 ? null : backupEveryMs,
        kept: backupsKept,
        folder: backupDir,
      }
      return { data: (await backups.list()).map(serializeBackup), next: null, schedule }
    },
  }),
  admin.create('/backups', {
    summary: 'Start a backup; only one runs at a time',
    description: `It ${confirmationRule}`,
    response: backupView,
    returns: 'The backup in progress.',
    async handle(context) {
      await requireConfirmation(context)
      const backup = await context.ctx.backups.make(context.by)
      await audit('make', backup.id, context)
      return backup
    },
  }),
  admin.get('/backups/{id}', {
    summary: 'Get a backup and its progress',
    response: backupView,
    handle: async ({ ctx, params }) => (await ctx.backups.list()).find(({ id }) => id === params.id),
  }),
  admin.post('/backups/{id}/check', {
    summary: 'Start a check that reads a backup in full and recomputes its ledger',
    response: backupView,
    returns: 'The backup that is being checked.',
    async handle(context) {
      const { id } = context.params
      const backup = await context.ctx.backups.check(id)
      await audit('check', id, context)
      return backup
    },
  }),
  admin.get('/backups/{id}/download', {
    summary: 'Download a backup as a tar archive, without the key that decrypts its credentials',
    description: `It ${confirmationRule}`,
    response: z.string(),
    returns: 'The archive.',
    mediaType: 'application/x-tar',
    async handle(context) {
      await requireConfirmation(context)
      const { id } = context.params
      const { folder, files } = await context.ctx.backups.download(id)
      await audit('download', id, context)
      const headers = {
        'content-type': 'application/x-tar',
        'content-length': String(tarSize(files)),
        'content-disposition': `attachment; filename="${id}.tar"`,
      }
      return new Response(toReadableStream(createTar(folder, files, id)), { headers })
    },
  }),
  admin.delete('/backups/{id}', {
    summary: 'Delete a backup',
    description: `It ${confirmationRule}`,
    async handle(context) {
      await requireConfirmation(context)
      const { id } = context.params
      await context.ctx.backups.remove(id)
      await audit('delete', id, context)
    },
  }),
]
