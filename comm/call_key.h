// Which calls of the ranks belong together: the n-th collective of each, or the n-th send and the
// n-th receive between the same two ranks.

#ifndef DTNN_COMM_CALL_KEY_H_
#define DTNN_COMM_CALL_KEY_H_

#include <compare>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "comm/communicator.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

struct CallKey {
  int from = -1, to = -1;  // of a message; a collective has neither
  int64_t number = 0;

  static CallKey Of(int rank, int64_t number, const Collective& call) {
    if (!call.between_two()) return {-1, -1, number};
    if (call.kind == CollectiveKind::kSend) return {rank, call.root, number};
    return {call.root, rank, number};
  }
  auto operator<=>(const CallKey&) const = default;

  bool is_message() const { return from >= 0; }
  bool concerns(int rank) const { return !is_message() || from == rank || to == rank; }
  std::string ToString() const {
    if (!is_message()) return StrCat("collective number ", number);
    return StrCat("message number ", number, " from rank ", from, " to rank ", to);
  }
};

// What all ranks get where the calls of two do not fit together.
inline absl::Status CallsDiffer(const CallKey& key, int rank, const CallSignature& call, int other,
                                const CallSignature& others) {
  return absl::InvalidArgumentError(
      StrCat(key.ToString(), " differs between ranks: rank ", rank, " called ", call.ToString(),
             ", rank ", other, " called ", others.ToString(),
             "; every rank must make the same calls in the same order"));
}

}  // namespace dtnn

#endif  // DTNN_COMM_CALL_KEY_H_
