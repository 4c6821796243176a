#include "comm/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/gather_values.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

constexpr int kRounds = 50;

}  // namespace

absl::Status ClockOffset::Measure(Communicator& communicator, absl::FunctionRef<int64_t()> clock,
                                  bool same_host) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> nodes,
                        GatherValues<int64_t>(communicator, communicator.place().node));
  DTNN_ASSIGN_OR_RETURN(const Tensor message, Tensor::Zeros(DType::kInt64, Shape{1}));
  int64_t& stamp = *message.data<int64_t>();
  const int rank = communicator.rank();
  Sample best;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (int other = 1; other < communicator.size(); ++other) {
    if (same_host && nodes[size_t(other)] == nodes[0]) continue;
    for (int round = 0; round < kRounds; ++round) {
      if (rank == 0) {
        DTNN_RETURN_IF_ERROR(communicator.Receive(message, other));
        stamp = clock();
        DTNN_RETURN_IF_ERROR(communicator.Send(message, other));
      } else if (rank == other) {
        const int64_t asked = clock();
        DTNN_RETURN_IF_ERROR(communicator.Send(message, 0));
        DTNN_RETURN_IF_ERROR(communicator.Receive(message, 0));
        const int64_t answered = clock();
        if (answered - asked >= shortest) continue;
        shortest = answered - asked;
        const int64_t middle = asked + shortest / 2;
        best = {middle, stamp - middle};
      }
    }
  }
  if (shortest == std::numeric_limits<int64_t>::max()) return absl::OkStatus();
  samples_.push_back(best);
  uncertainty_ = std::max(uncertainty_, shortest / 2);
  return absl::OkStatus();
}

int64_t ClockOffset::ToRankZero(int64_t time) const {
  if (samples_.empty()) return time;
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  if (last.time == first.time) return time + first.offset;
  const double share = double(time - first.time) / double(last.time - first.time);
  return time + first.offset + std::llround(share * double(last.offset - first.offset));
}

}  // namespace dtnn
