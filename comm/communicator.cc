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

constexpr const char* kNames[] = {"barrier",    "broadcast", "all-reduce",
                                  "all-gather", "send",      "receive"};

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
      return absl::StrCat("all-reduce",
                          op == ReduceOp::kSum   ? ""
                          : op == ReduceOp::kMin ? " (minimum)"
                                                 : " (maximum)",
                          " of ", Elements(output));
    case CollectiveKind::kAllGather:
      return absl::StrCat("all-gather of ", Elements(input), " each");
    case CollectiveKind::kSend:
      return absl::StrCat("send of ", Elements(input), " to rank ", root);
    case CollectiveKind::kReceive:
      return absl::StrCat("receive of ", Elements(output), " from rank ", root);
  }
  return "?";
}

bool Collective::Fits(const Collective& other) const {
  if (!between_two()) return ToString() == other.ToString();
  return other.between_two() && kind != other.kind && input.dtype() == other.input.dtype() &&
         input.num_elements() == other.input.num_elements();
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
    return absl::InvalidArgumentError(absl::StrCat(c.between_two() ? "" : "root ", c.root,
                                                   " is not one of the ", size_, " ranks"));
  }
  if (c.between_two() && c.root == rank_) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank_, " names itself"));
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

std::unique_ptr<Work> Communicator::AllReduceAsync(const Tensor& tensor, ReduceOp op,
                                                   Timeout timeout) {
  return CheckAndStart(
      {.kind = CollectiveKind::kAllReduce, .input = tensor, .output = tensor, .op = op}, timeout);
}

std::unique_ptr<Work> Communicator::AllGatherAsync(const Tensor& input, const Tensor& output,
                                                   Timeout timeout) {
  return CheckAndStart({.kind = CollectiveKind::kAllGather, .input = input, .output = output},
                       timeout);
}

std::unique_ptr<Work> Communicator::SendAsync(const Tensor& tensor, int to, Timeout timeout) {
  return CheckAndStart(
      {.kind = CollectiveKind::kSend, .input = tensor, .output = tensor, .root = to}, timeout);
}

std::unique_ptr<Work> Communicator::ReceiveAsync(const Tensor& tensor, int from, Timeout timeout) {
  return CheckAndStart(
      {.kind = CollectiveKind::kReceive, .input = tensor, .output = tensor, .root = from}, timeout);
}

absl::Status Communicator::Barrier(Timeout timeout) { return CheckAndStart({}, timeout)->Wait(); }

absl::Status Communicator::Broadcast(const Tensor& tensor, int root, Timeout timeout) {
  return BroadcastAsync(tensor, root, timeout)->Wait();
}

absl::Status Communicator::AllReduce(const Tensor& tensor, ReduceOp op, Timeout timeout) {
  return AllReduceAsync(tensor, op, timeout)->Wait();
}

absl::Status Communicator::AllGather(const Tensor& input, const Tensor& output, Timeout timeout) {
  return AllGatherAsync(input, output, timeout)->Wait();
}

absl::Status Communicator::Send(const Tensor& tensor, int to, Timeout timeout) {
  return SendAsync(tensor, to, timeout)->Wait();
}

absl::Status Communicator::Receive(const Tensor& tensor, int from, Timeout timeout) {
  return ReceiveAsync(tensor, from, timeout)->Wait();
}

}  // namespace dtnn
