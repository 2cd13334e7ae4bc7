/** What each number means: its window and what counts. Shown in tooltips; docs/console.md states the same. English. */

const anyOutcome = 'whatever became of them'
const failedRule =
  'Rejected or failed: also truncated or stopped by the relay, regardless of the cause. Requests that the client aborted do not count.'
const last24Hours = 'in the current hour and the 23 before it'
const admitted = 'A request counts from the time it was received. A refund does not change this amount.'
const successRule =
  'Client errors, requests rejected by balance, cap or rate limit, and requests that the client aborted do not count. A request counts when it ends. Rounded down.'

export const definitions = {
  balance: 'All credits minus all charges up to now. Amounts on hold are included.',
  held: 'The most that requests in progress may cost. The hold of a request ends with its charge.',
  available:
    'What new requests can spend: the balance or what is left of a cap, whichever is less, minus the amount on hold.',
  spentToday: `Charges since midnight in the account’s time zone. ${admitted}`,
  spentMonth: `Charges since the first of the month in the account’s time zone. ${admitted}`,
  cost: `Charges of the requests in this period. ${admitted}`,
  cost30: `Charges of the last 30 days, including today, by day in the account’s time zone. ${admitted}`,
  charges: `Charges of the requests of this month in the account’s time zone. ${admitted}`,
  requests: `All requests received in this period, ${anyOutcome}. ${failedRule}`,
  requestsToday: `All requests received since midnight in the account’s time zone, ${anyOutcome}. ${failedRule}`,
  requests24: `All requests received ${last24Hours}, ${anyOutcome}.`,
  failed: failedRule,
  failed24: `Of the requests received ${last24Hours}. ${failedRule}`,
  success24: `Answered ÷ received, ${last24Hours}. ${successRule}`,
  successMonth: `Answered ÷ received, in this calendar month (UTC). ${successRule}`,
  failedMonth:
    'In this calendar month (UTC): requests that failed because of the relay or a provider. Client errors, requests rejected by balance, cap or rate limit, and requests that the client aborted do not count.',
  succeededMonth: 'Requests answered completely in this calendar month (UTC).',
  errorBudget:
    'Service errors of this month ÷ the service errors that the target allows. Above 100%, the target is missed.',
  balances: 'The balances of all accounts at this moment, including amounts on hold.',
  revenueToday: `Charges to all customers since midnight in the time zone of the dashboard. ${admitted}`,
  revenue24: `Charges to all customers ${last24Hours}. ${admitted}`,
  revenue30: `Charges to all customers in the last 30 days, including today, in the time zone of the dashboard. ${admitted}`,
  revenueMonth: `Charges to all customers since the first of the month in the time zone of the dashboard. ${admitted}`,
  operatorRequestsToday: `All requests received since midnight in the time zone of the dashboard, ${anyOutcome}. The rate is that of the last minute.`,
  requestsMonth: `All requests received since the first of the month in the time zone of the dashboard, ${anyOutcome}.`,
  requests30: `All requests received in the last 30 days, including today, in the time zone of the dashboard, ${anyOutcome}. ${failedRule}`,
  received: `All requests received in this period, ${anyOutcome}: of the model in the filter, from all upstreams.`,
  failureRate: `Rejected or failed ÷ requests. ${failedRule} The success rate does not count client errors and rejections, so the two do not add up to 100%.`,
  failureShare: 'Requests of this row ÷ all requests for this model in this period.',
  share24: `Requests of this row ÷ all requests received ${last24Hours}.`,
  attempts:
    'Calls of this upstream in the last minute. A request may call several upstreams, or one several times.',
  attemptErrors: 'Failed calls ÷ calls of this upstream in the last minute. Client errors do not count.',
}
