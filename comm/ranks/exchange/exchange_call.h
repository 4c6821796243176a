// A call of a communicator on its way, as the exchanges of bytes that it consists of, one after the
// other:
//
//   kSignatures  where calls are checked: the signatures of all ranks, which must fit together
//   kSlices      an all-reduce of many bytes: each rank gets its slice of the others', and sums it
//   kTensors     the last one: the tensors of the call, or the summed slices
//
// It knows no connections; of the engine's thread.

#ifndef DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_CALL_H_
#define DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/ranks/exchange/exchange_options.h"
#include "comm/ranks/exchange/running.h"
#include "comm/ranks/group/group.h"
#include "tensor/tensor.h"

namespace dtnn {

class ExchangeCall {
 public:
  // `slices_pay_from`: bytes, where the options say nothing.
  ExchangeCall(int rank, int size, size_t slices_pay_from, const ExchangeOptions& options,
               std::shared_ptr<Group> group, std::shared_ptr<Operation> operation)
      : rank_(rank),
        size_(size),
        slices_from_(options.slices_from.value_or(slices_pay_from)),
        options_(options),
        group_(std::move(group)),
        operation_(std::move(operation)) {}

  Group& group() const { return *group_; }
  const std::shared_ptr<Operation>& operation() const { return operation_; }

  // Begins the first exchange, or the one after running(), which is complete. False: that was the
  // last one.
  absl::StatusOr<bool> Next();
  // The exchange, whose memory lives as long as the call; null before the first.
  Running* running() const { return running_.get(); }
  // It has failed: no exchange follows.
  void Fail() { phase_ = Phase::kFailed; }
  bool failed() const { return phase_ == Phase::kFailed; }
  // The tensors of all ranks, or their parts for this one, where the caller adds them up.
  Tensor TakeGathered() { return std::move(gathered_); }

 private:
  enum class Phase : uint8_t { kNew, kSignatures, kSlices, kTensors, kFailed };

  void Begin(Phase phase, Schedule schedule, const CallMemory& memory, uint32_t signature);
  void BeginSignatures();
  absl::Status CompareSignatures() const;
  absl::Status BeginTensors();
  absl::Status AllocateGathered(int64_t elements);
  absl::Status BeginParts(size_t bytes);
  absl::Status BeginSlices(size_t bytes);
  void SumAndGatherSlices();

  const int rank_, size_;
  const size_t slices_from_;
  const ExchangeOptions options_;
  const std::shared_ptr<Group> group_;
  const std::shared_ptr<Operation> operation_;
  Phase phase_ = Phase::kNew;
  std::vector<std::byte> memory_;  // of a barrier, of signatures
  Tensor gathered_, slices_;
  std::unique_ptr<Running> running_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_EXCHANGE_EXCHANGE_CALL_H_
