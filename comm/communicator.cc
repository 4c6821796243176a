#include "comm/communicator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace dtnn {
namespace {

class FailedWork : public Work {
 public:
  explicit FailedWork(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return status_; }

 private:
  absl::Status status_;
};

std::string Elements(const Tensor& tensor) {
  return absl::StrCat(tensor.num_elements(), " ", std::string(Name(tensor.dtype())));
}

}  // namespace

std::string Collective::ToString() const {
  switch (kind) {
    case CollectiveKind::kBarrier:
      return "barrier";
    case CollectiveKind::kBroadcast:
      return absl::StrCat("broadcast of ", Elements(output), " from rank ", root);
    case CollectiveKind::kAllReduce:
      return absl::StrCat("all-reduce of ", Elements(output));
    case CollectiveKind::kAllGather:
      return absl::StrCat("all-gather of ", Elements(input), " each");
  }
  return "?";
}

absl::Status Communicator::Check(const Collective& c) const {
  if (c.timeout.count() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the timeout must be positive, not ", c.timeout.count(), " ms"));
  }
  if (c.kind == CollectiveKind::kBarrier) return absl::OkStatus();
  if (c.input.empty() || c.output.empty()) return absl::InvalidArgumentError("a tensor is empty");
  if (!c.input.dense() || !c.output.dense()) {
    return absl::InvalidArgumentError("a tensor has a pitch; collectives take dense tensors");
  }
  if (c.root < 0 || c.root >= size_) {
    return absl::InvalidArgumentError(
        absl::StrCat("root ", c.root, " is not one of the ", size_, " ranks"));
  }
  if (c.kind == CollectiveKind::kAllGather &&
      (c.output.dtype() != c.input.dtype() ||
       c.output.num_elements() != c.input.num_elements() * size_)) {
    return absl::InvalidArgumentError(absl::StrCat("the output holds ", Elements(c.output),
                                                   ", expected ", size_, " times ",
                                                   Elements(c.input)));
  }
  return absl::OkStatus();
}

std::unique_ptr<Work> Communicator::CheckAndStart(Collective collective, Timeout timeout) {
  collective.timeout = timeout.value_or(options_.timeout);
  if (absl::Status status = Check(collective); !status.ok()) {
    constexpr const char* kNames[] = {"barrier", "broadcast", "all-reduce", "all-gather"};
    status = absl::Status(status.code(),
                          absl::StrCat(kNames[int(collective.kind)], ": ", status.message()));
    Abort(status);
    return std::make_unique<FailedWork>(std::move(status));
  }
  return Start(collective);
}

std::unique_ptr<Work> Communicator::BroadcastAsync(const Tensor& tensor, int root,
                                                   Timeout timeout) {
  return CheckAndStart(
      {.kind = CollectiveKind::kBroadcast, .input = tensor, .output = tensor, .root = root},
      timeout);
}

std::unique_ptr<Work> Communicator::AllReduceAsync(const Tensor& tensor, Timeout timeout) {
  return CheckAndStart({.kind = CollectiveKind::kAllReduce, .input = tensor, .output = tensor},
                       timeout);
}

std::unique_ptr<Work> Communicator::AllGatherAsync(const Tensor& input, const Tensor& output,
                                                   Timeout timeout) {
  return CheckAndStart({.kind = CollectiveKind::kAllGather, .input = input, .output = output},
                       timeout);
}

absl::Status Communicator::Barrier(Timeout timeout) { return CheckAndStart({}, timeout)->Wait(); }

absl::Status Communicator::Broadcast(const Tensor& tensor, int root, Timeout timeout) {
  return BroadcastAsync(tensor, root, timeout)->Wait();
}

absl::Status Communicator::AllReduce(const Tensor& tensor, Timeout timeout) {
  return AllReduceAsync(tensor, timeout)->Wait();
}

absl::Status Communicator::AllGather(const Tensor& input, const Tensor& output, Timeout timeout) {
  return AllGatherAsync(input, output, timeout)->Wait();
}

}  // namespace dtnn
