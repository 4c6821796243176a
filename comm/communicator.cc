#include "comm/communicator.h"

#include <type_traits>
#include <utility>

#include "tensor/errors.h"
#include "tensor/stopwatch.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

class FailedWork : public Work {
 public:
  explicit FailedWork(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return status_; }

 private:
  absl::Status status_;
};

class TimedWork : public Work {
 public:
  TimedWork(std::unique_ptr<Work> work, double& seconds)
      : work_(std::move(work)), seconds_(seconds) {}
  absl::Status Wait() override {
    const AddTime time(seconds_);
    return work_->Wait();
  }

 private:
  const std::unique_ptr<Work> work_;
  double& seconds_;
};

constexpr const char* kNames[] = {"barrier",        "broadcast",  "all-reduce", "all-gather",
                                  "reduce-scatter", "all-to-all", "send",       "receive"};

// The activity that observers see for a call; in the order of CollectiveKind, as kNames.
constexpr Activity kToldAs[] = {
    Activity::kBarrier,       Activity::kBroadcast, Activity::kAllReduce, Activity::kAllGather,
    Activity::kReduceScatter, Activity::kAllToAll,  Activity::kSend,      Activity::kReceive};

std::string Elements(const Tensor& tensor) {
  return StrCat(tensor.num_elements(), " ", Name(tensor.dtype()));
}

bool Overlap(const Tensor& a, const Tensor& b) {
  const auto begin = [](const Tensor& tensor) { return uintptr_t(tensor.raw_data()); };
  const auto end = [&](const Tensor& tensor) {
    return begin(tensor) + size_t(tensor.num_elements()) * SizeOf(tensor.dtype());
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

}  // namespace

static_assert(std::has_unique_object_representations_v<CallSignature>, "is sent as bytes");

CallSignature Collective::signature() const {
  CallSignature result = {.kind = kind, .op = op, .root = root};
  if (kind == CollectiveKind::kBarrier) return result;
  result.dtype = input.dtype();
  result.elements = input.num_elements();
  return result;
}

std::string CallSignature::ToString() const {
  const std::string size = StrCat(" of ", elements, " ", Name(dtype));
  const char* name = kNames[int(kind)];
  switch (kind) {
    case CollectiveKind::kBarrier:
      return name;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReceive:
      return StrCat(name, size, " from rank ", root);
    case CollectiveKind::kSend:
      return StrCat(name, size, " to rank ", root);
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
      if (op == ReduceOp::kMin) return StrCat(name, " (minimum)", size);
      if (op == ReduceOp::kMax) return StrCat(name, " (maximum)", size);
      return StrCat(name, size);
    case CollectiveKind::kAllGather:
      return StrCat(name, size, " each");
    case CollectiveKind::kAllToAll:
      return StrCat(name, size);
  }
  return "?";
}

bool CallSignature::Fits(const CallSignature& other) const {
  if (kind < CollectiveKind::kSend) return ToString() == other.ToString();
  return other.kind >= CollectiveKind::kSend && kind != other.kind && dtype == other.dtype &&
         elements == other.elements;
}

absl::Status Communicator::Check(const Collective& c) const {
  if (c.timeout.count() <= 0) {
    return InvalidArgument("the timeout must be positive, not ", c.timeout.count(), " ms");
  }
  if (c.kind == CollectiveKind::kBarrier) return absl::OkStatus();
  if (c.input.empty() || c.output.empty()) return absl::InvalidArgumentError("a tensor is empty");
  if (!c.input.dense() || !c.output.dense()) {
    return absl::InvalidArgumentError("a tensor has a pitch; collectives take dense tensors");
  }
  for (const Tensor* tensor : {&c.input, &c.output}) {
    if (IsHalf(tensor->dtype())) {
      return InvalidArgument("a tensor is ", Name(tensor->dtype()),
                             "; ranks exchange float32, float64, uint8, int32 and int64: convert "
                             "it, or send its bytes");
    }
    if (tensor->buffer()->host_accessible()) continue;
    return InvalidArgument("a tensor is on ", tensor->device().ToString(),
                           "; ranks exchange host memory only: copy it to the host");
  }
  if (c.root < 0 || c.root >= size()) {
    return InvalidArgument(c.between_two() ? "" : "root ", c.root, " is not one of the ", size(),
                           " ranks");
  }
  if (c.between_two() && c.root == rank()) {
    return InvalidArgument("rank ", rank(), " cannot send to itself");
  }
  return CheckSizes(c);
}

absl::Status Communicator::CheckSizes(const Collective& c) const {
  const bool same_type = c.output.dtype() == c.input.dtype();
  const int64_t input = c.input.num_elements(), output = c.output.num_elements();
  if (c.kind == CollectiveKind::kAllGather && !(same_type && output == input * size())) {
    return InvalidArgument("the output has ", Elements(c.output), ", expected ", size(), " times ",
                           Elements(c.input));
  }
  if (c.kind == CollectiveKind::kReduceScatter) {
    if (!same_type || input != output * size()) {
      return InvalidArgument("the input has ", Elements(c.input), ", expected ", size(), " times ",
                             Elements(c.output));
    }
    const size_t part = size_t(output) * SizeOf(c.output.dtype());
    const bool in_place = c.output.raw_data() == c.input.raw_data() + size_t(rank()) * part;
    if (!in_place && Overlap(c.input, c.output)) {
      return InvalidArgument("the output overlaps the input without being its part number ",
                             rank());
    }
  }
  if (c.kind == CollectiveKind::kAllToAll) {
    if (!same_type || input != output) {
      return InvalidArgument("the output has ", Elements(c.output), ", the input ",
                             Elements(c.input), "; expected the same");
    }
    if (input % size() != 0) {
      return InvalidArgument(Elements(c.input), " are not ", size(), " parts of one size");
    }
    if (Overlap(c.input, c.output)) return absl::InvalidArgumentError("the tensors overlap");
  }
  return absl::OkStatus();
}

std::unique_ptr<Work> Communicator::CheckAndStart(Collective collective, Timeout timeout) {
  collective.timeout = timeout.value_or(options_.timeout);
  if (absl::Status status = Check(collective); !status.ok()) {
    status = WithContext(status, kNames[int(collective.kind)]);
    Abort(status);
    return std::make_unique<FailedWork>(std::move(status));
  }
  return Start(collective);
}

std::unique_ptr<Work> Communicator::Begin(Collective collective, Timeout timeout) {
  const AddTime time(waited_seconds_);
  return std::make_unique<TimedWork>(CheckAndStart(std::move(collective), timeout),
                                     waited_seconds_);
}

absl::Status Communicator::Run(Collective collective, Timeout timeout) {
  collective.waits_at_once = true;
  const Tensor& sent = collective.input;
  const Span span(
      {.activity = kToldAs[int(collective.kind)],
       .bytes = sent.empty() ? 0 : sent.num_elements() * int64_t(SizeOf(sent.dtype()))});
  return Begin(std::move(collective), timeout)->Wait();
}

std::unique_ptr<Work> Communicator::BroadcastAsync(const Tensor& tensor, int root,
                                                   Timeout timeout) {
  return Begin(
      {.kind = CollectiveKind::kBroadcast, .input = tensor, .output = tensor, .root = root},
      timeout);
}

std::unique_ptr<Work> Communicator::AllReduceAsync(const Tensor& tensor, ReduceOp op,
                                                   Timeout timeout) {
  return Begin({.kind = CollectiveKind::kAllReduce, .input = tensor, .output = tensor, .op = op},
               timeout);
}

std::unique_ptr<Work> Communicator::AllGatherAsync(const Tensor& input, const Tensor& output,
                                                   Timeout timeout) {
  return Begin({.kind = CollectiveKind::kAllGather, .input = input, .output = output}, timeout);
}

std::unique_ptr<Work> Communicator::ReduceScatterAsync(const Tensor& input, const Tensor& output,
                                                       ReduceOp op, Timeout timeout) {
  return Begin({.kind = CollectiveKind::kReduceScatter, .input = input, .output = output, .op = op},
               timeout);
}

std::unique_ptr<Work> Communicator::AllToAllAsync(const Tensor& input, const Tensor& output,
                                                  Timeout timeout) {
  return Begin({.kind = CollectiveKind::kAllToAll, .input = input, .output = output}, timeout);
}

std::unique_ptr<Work> Communicator::SendAsync(const Tensor& tensor, int to, Timeout timeout) {
  return Begin({.kind = CollectiveKind::kSend, .input = tensor, .output = tensor, .root = to},
               timeout);
}

std::unique_ptr<Work> Communicator::ReceiveAsync(const Tensor& tensor, int from, Timeout timeout) {
  return Begin({.kind = CollectiveKind::kReceive, .input = tensor, .output = tensor, .root = from},
               timeout);
}

absl::Status Communicator::Barrier(Timeout timeout) { return Run({}, timeout); }

absl::Status Communicator::Broadcast(const Tensor& tensor, int root, Timeout timeout) {
  return Run({.kind = CollectiveKind::kBroadcast, .input = tensor, .output = tensor, .root = root},
             timeout);
}

absl::Status Communicator::AllReduce(const Tensor& tensor, ReduceOp op, Timeout timeout) {
  return Run({.kind = CollectiveKind::kAllReduce, .input = tensor, .output = tensor, .op = op},
             timeout);
}

absl::Status Communicator::AllGather(const Tensor& input, const Tensor& output, Timeout timeout) {
  return Run({.kind = CollectiveKind::kAllGather, .input = input, .output = output}, timeout);
}

absl::Status Communicator::ReduceScatter(const Tensor& input, const Tensor& output, ReduceOp op,
                                         Timeout timeout) {
  return Run({.kind = CollectiveKind::kReduceScatter, .input = input, .output = output, .op = op},
             timeout);
}

absl::Status Communicator::AllToAll(const Tensor& input, const Tensor& output, Timeout timeout) {
  return Run({.kind = CollectiveKind::kAllToAll, .input = input, .output = output}, timeout);
}

absl::Status Communicator::Send(const Tensor& tensor, int to, Timeout timeout) {
  return Run({.kind = CollectiveKind::kSend, .input = tensor, .output = tensor, .root = to},
             timeout);
}

absl::Status Communicator::Receive(const Tensor& tensor, int from, Timeout timeout) {
  return Run({.kind = CollectiveKind::kReceive, .input = tensor, .output = tensor, .root = from},
             timeout);
}

}  // namespace dtnn
