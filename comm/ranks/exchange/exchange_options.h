// What only ranks that are connected by streams have a choice of.

#ifndef DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_OPTIONS_H_
#define DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_OPTIONS_H_

#include <cstddef>
#include <optional>

namespace dtnn {

struct ExchangeOptions {
  // Every all-reduce gathers all ranks' tensors and adds them in the order of ranks on each of
  // them, and calls are checked. Slow, p times the memory, and the very bits of ranks that are
  // threads (local.h).
  bool sums_in_rank_order = false;
  bool check_calls = false;  // as CommunicatorOptions
  // All-reduces go in slices (schedule.h) from so many bytes on; nothing: where that pays. A test
  // makes it small.
  std::optional<size_t> slices_from = {};
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_OPTIONS_H_
