// The events of all ranks on rank 0, by its clock.

#ifndef DTNN_MODELS_OBSERVE_TRACE_GATHER_EVENTS_H_
#define DTNN_MODELS_OBSERVE_TRACE_GATHER_EVENTS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/clock_offset.h"
#include "comm/communicator.h"
#include "models/observe/trace/event_log.h"
#include "models/observe/trace/rank_events.h"

namespace dtnn {

// What rank 0 does with them.
struct EventTaker {
  // Before the first event: a time of rank 0's clock before which there is none.
  absl::FunctionRef<absl::Status(int64_t origin)> begin;
  // Once per rank, in the order of ranks.
  absl::FunctionRef<absl::Status(const RankEvents& rank)> take;
};

// All ranks call it together; `communicator`: null for one rank. On rank 0, the taker's first
// error, after the events of all ranks have come; on the others, only errors of the communicator.
absl::Status GatherEvents(const EventLog& log, Communicator* communicator, const ClockOffset& clock,
                          const EventTaker& taker);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_GATHER_EVENTS_H_
