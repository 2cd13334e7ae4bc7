/** Running the relay: its ledger, its records, its health. Simplified Chinese. */
import type { running as english } from '../en/running.ts'

export const running: typeof english = {
  ledger: {
    title: '账本',
    lead: '每一笔收支，复式记账，只增不改。核对时从日志重新计算全部金额。',
    verify: '立即核对',
    holds: '账目相符，精确到最后一位。',
    fails: '账目不符。',
    entries: '已核对分录',
    drift: '偏差',
    driftNote: '全部差额之和',
    openHolds: '未结冻结',
    openHoldsNote: '进行中的请求',
    overrun: '超支',
    overrunNote: '已交付而无法收取',
    notYet: '尚未在此核对',
    notYetLead: '系统始终在核对账本，也可在此手动核对。核对会读取全部数据，可能需要一些时间。',
  },
  audit: {
    title: '审计日志',
    lead: '谁对哪个对象做了什么，最新在前。只增不减。',
    object: '对象',
    objectHint: '账户、密钥、模型或上游的编号',
    find: '查找',
    none: '还没有操作',
    noneLead: '在此处、通过脚本或命令行所做的每项更改都会记录下来。',
    time: '时间',
    actor: '操作者',
    action: '操作',
    detail: '详情',
  },
}
