// The events of one rank, as writers of traces take them: one rank after the other, so that no
// process holds those of all.

#ifndef DTNN_MODELS_OBSERVE_TRACE_RANK_EVENTS_H_
#define DTNN_MODELS_OBSERVE_TRACE_RANK_EVENTS_H_

#include <cstdint>
#include <vector>

#include "models/observe/trace/event_log.h"

namespace dtnn {

struct RankEvents {
  int rank = 0;
  std::vector<LoggedEvent> events = {};  // in the order of their begins, by rank 0's clock
  int64_t dropped = 0;                   // that the rank did not keep
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_RANK_EVENTS_H_
