#include "models/observe/trace/gather_events.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "comm/gather_values.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

// They travel as bytes, between processes of one program.
static_assert(std::is_trivially_copyable_v<LoggedEvent>);
constexpr int64_t kPiece = 1 << 14;  // events of a message
constexpr int64_t kSize = sizeof(LoggedEvent);
constexpr int64_t kMostOfARank = int64_t{1} << 27;  // 8 GB of them

absl::StatusOr<Tensor> Message() { return Tensor::Zeros(DType::kUint8, Shape{kPiece * kSize}); }

absl::Status SendEvents(const std::vector<LoggedEvent>& events, Communicator& communicator) {
  DTNN_ASSIGN_OR_RETURN(const Tensor message, Message());
  for (int64_t sent = 0; sent < int64_t(events.size()); sent += kPiece) {
    const int64_t count = std::min(kPiece, int64_t(events.size()) - sent);
    std::memcpy(message.raw_data(), events.data() + sent, size_t(count * kSize));
    DTNN_RETURN_IF_ERROR(communicator.Send(message, 0));
  }
  return absl::OkStatus();
}

// Other ranks' numbers become indices here.
bool IsValid(const LoggedEvent& logged) {
  return int(logged.event.activity) < kActivities && logged.thread >= 1 &&
         logged.thread <= int32_t(EventLog::kMostThreads);
}

absl::Status ReceiveEvents(int64_t count, int from, Communicator& communicator,
                           std::vector<LoggedEvent>& events) {
  if (count < 0 || count > kMostOfARank) {
    return DataLoss("rank ", from, " says that it has ", count, " events to tell");
  }
  DTNN_ASSIGN_OR_RETURN(const Tensor message, Message());
  events.resize(size_t(count));
  for (int64_t received = 0; received < count; received += kPiece) {
    DTNN_RETURN_IF_ERROR(communicator.Receive(message, from));
    std::memcpy(static_cast<void*>(events.data() + received), message.raw_data(),
                size_t(std::min(kPiece, count - received) * kSize));
  }
  if (!std::ranges::all_of(events, IsValid)) {
    return DataLoss("rank ", from, " told events that no rank can have");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status GatherEvents(const EventLog& log, Communicator* communicator, const ClockOffset& clock,
                          const EventTaker& taker) {
  RankEvents mine = {.events = log.Events(), .dropped = log.dropped()};
  for (LoggedEvent& logged : mine.events) {
    logged.event.begin = clock.ToRankZero(logged.event.begin);
    logged.event.end = clock.ToRankZero(logged.event.end);
  }
  const int64_t first =
      mine.events.empty() ? std::numeric_limits<int64_t>::max() : mine.events.front().event.begin;
  if (communicator == nullptr) {
    DTNN_RETURN_IF_ERROR(taker.begin(first));
    return taker.take(mine);
  }
  mine.rank = communicator->rank();
  const int64_t facts[] = {first, int64_t(mine.events.size()), mine.dropped};
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                        GatherValues<int64_t>(*communicator, facts));
  if (mine.rank != 0) return SendEvents(mine.events, *communicator);
  int64_t origin = first;
  for (size_t i = 0; i < all.size(); i += std::size(facts)) origin = std::min(origin, all[i]);
  absl::Status status = taker.begin(origin);
  if (status.ok()) status = taker.take(mine);
  for (int rank = 1; rank < communicator->size(); ++rank) {
    const int64_t* const other = &all[size_t(rank) * std::size(facts)];
    RankEvents theirs = {.rank = rank, .events = {}, .dropped = other[2]};
    DTNN_RETURN_IF_ERROR(ReceiveEvents(other[1], rank, *communicator, theirs.events));
    if (status.ok()) status = taker.take(theirs);
  }
  return status;
}

}  // namespace dtnn
