// Messages of ranks beside their tensors: how far they are, which gave up, which leave.

#ifndef DTNN_COMM_RANKS_GROUP_CONTROL_MESSAGE_H_
#define DTNN_COMM_RANKS_GROUP_CONTROL_MESSAGE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

struct ControlMessage {
  enum class Kind : int32_t {
    kQuery,   // where are you?
    kAnswer,  // to a query
    kSurvey,  // to the coordinator: which ranks miss collective `calls`?
    kReport,  // to a survey: `lost` do not answer, `late` have not called it
    kAbort,   // the group is broken: `status`, `lost`
    kLeave,   // the sender's communicator is no more; `status`, `lost` where it was broken before
    kHeard,   // message number `number` has come
    kHello,   // do datagrams reach you? Being heard is the answer
  };
  Kind kind = Kind::kQuery;
  int32_t group = 0;  // the number of the group, counted alike by all ranks
  // How far the sender is: collectives it has called, messages to and from the addressee.
  int64_t calls = 0, sent = 0, received = 0;
  // In a survey: ranks that have owed an answer for so long count as silent.
  std::chrono::milliseconds silent_for{0};
  int32_t departure_code = 0;  // in kLeave: Communicator::set_departure_code
  uint32_t number = 0;         // of what is repeated until it is heard; else 0
  absl::Status status;
  std::vector<int> lost, late;  // sorted
};

// The limit for a message between so many ranks: each list takes a bit per rank.
size_t MaxControlBytes(int ranks);

// At most MaxControlBytes, if all ranks named are below `ranks`; a long text is cut off.
std::string Encode(const ControlMessage& message);
// Nothing for what cannot be a message between so many ranks.
std::optional<ControlMessage> Decode(std::string_view bytes, int ranks);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GROUP_CONTROL_MESSAGE_H_
