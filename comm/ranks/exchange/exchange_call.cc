#include "comm/ranks/exchange/exchange_call.h"

#include <algorithm>
#include <cstring>

#include "comm/ranks/exchange/schedule.h"
#include "comm/ranks/group/control_message.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Which signatures: all ranks', or the two of a message, by the rank that wrote them.
constexpr uint32_t kNone = 0, kOfAll = 1, kOfSender = 2, kOfReceiver = 3;

// Another process wrote it.
bool IsSignature(const CallSignature& signature) {
  return signature.kind <= CollectiveKind::kReceive && signature.op <= ReduceOp::kMax &&
         signature.dtype <= DType::kInt64;
}

}  // namespace

absl::StatusOr<bool> ExchangeCall::Next() {
  switch (phase_) {
    case Phase::kNew:
      if (options_.check_calls) {
        BeginSignatures();
      } else {
        DTNN_RETURN_IF_ERROR(BeginTensors());
      }
      return true;
    case Phase::kSignatures:
      DTNN_RETURN_IF_ERROR(CompareSignatures());
      DTNN_RETURN_IF_ERROR(BeginTensors());
      return true;
    case Phase::kSlices:
      SumAndGatherSlices();
      return true;
    case Phase::kTensors:
    case Phase::kFailed:
      break;
  }
  return false;
}

void ExchangeCall::Begin(Phase phase, Schedule schedule, const CallMemory& memory,
                         uint32_t signature) {
  phase_ = phase;
  const Collective& collective = operation_->call;
  const bool tensors = signature == kNone && collective.kind != CollectiveKind::kBarrier;
  const PieceKey key = {.group = group_->number(),
                        .number = operation_->key.number,
                        .is_message = operation_->key.is_message() ? 1u : 0u,
                        .signature = signature};
  running_ = std::make_unique<Running>(key, std::move(schedule), memory, collective.op,
                                       tensors ? collective.input.dtype() : DType::kUint8);
}

void ExchangeCall::BeginSignatures() {
  constexpr size_t kBytes = sizeof(CallSignature);
  const Collective& collective = operation_->call;
  const CallSignature mine = collective.signature();
  if (!collective.between_two()) {
    memory_.resize(size_t(size_) * kBytes);
    std::memcpy(memory_.data() + size_t(rank_) * kBytes, &mine, kBytes);
    return Begin(Phase::kSignatures,
                 MakeSchedule(CollectiveKind::kAllGather, rank_, size_, 0, kBytes, 1),
                 {.first = memory_.data()}, kOfAll);
  }
  // The sender's first. Each piece has a key of its own, as a message in either direction.
  const bool sends = collective.kind == CollectiveKind::kSend;
  memory_.resize(2 * kBytes);
  std::memcpy(memory_.data() + (sends ? 0 : kBytes), &mine, kBytes);
  const auto piece = [&](Piece::Kind kind, size_t at, uint32_t tag) {
    return Piece{.kind = kind,
                 .peer = collective.root,
                 .begin = at * kBytes,
                 .end = (at + 1) * kBytes,
                 .tag = tag};
  };
  const Schedule schedule = {
      piece(sends ? Piece::Kind::kSend : Piece::Kind::kReceive, 0, kOfSender),
      piece(sends ? Piece::Kind::kReceive : Piece::Kind::kSend, 1, kOfReceiver)};
  Begin(Phase::kSignatures, schedule, {.first = memory_.data()}, kOfAll);
}

absl::Status ExchangeCall::CompareSignatures() const {
  std::vector<CallSignature> all(memory_.size() / sizeof(CallSignature));
  std::memcpy(all.data(), memory_.data(), memory_.size());
  const CallKey& key = operation_->key;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!IsSignature(all[i])) {
      return InvalidArgument(key.ToString(), ": another rank sent bytes that are not a call");
    }
    if (i == 0 || all[0].Fits(all[i])) continue;
    return CallsDiffer(key, key.is_message() ? key.from : 0, all[0],
                       key.is_message() ? key.to : int(i), all[i]);
  }
  return absl::OkStatus();
}

absl::Status ExchangeCall::BeginTensors() {
  const Collective& collective = operation_->call;
  CollectiveKind kind = collective.kind;
  if (kind == CollectiveKind::kBarrier) {
    memory_.assign(BarrierBytes(size_), {});
    Begin(Phase::kTensors, MakeSchedule(kind, rank_, size_, 0, 0, 1), {.first = memory_.data()},
          kNone);
    return absl::OkStatus();
  }
  const size_t element = SizeOf(collective.input.dtype());
  const size_t bytes = size_t(collective.input.num_elements()) * element;
  std::byte* memory = collective.output.raw_data();
  if (collective.in_parts()) return BeginParts(bytes);
  if (kind == CollectiveKind::kAllReduce && options_.sums_in_rank_order && bytes > 0) {
    DTNN_RETURN_IF_ERROR(AllocateGathered(size_ * collective.input.num_elements()));
    memory = gathered_.raw_data();
    kind = CollectiveKind::kAllGather;
  }
  if (kind == CollectiveKind::kAllReduce && bytes >= std::max<size_t>(1, slices_from_)) {
    return BeginSlices(bytes);
  }
  if (kind == CollectiveKind::kAllGather) {
    std::byte* const mine = memory + size_t(rank_) * bytes;
    if (bytes > 0 && mine != collective.input.raw_data()) {
      std::memcpy(mine, collective.input.raw_data(), bytes);
    }
  }
  Begin(Phase::kTensors, MakeSchedule(kind, rank_, size_, collective.root, bytes, element),
        {.first = memory}, kNone);
  return absl::OkStatus();
}

absl::Status ExchangeCall::AllocateGathered(int64_t elements) {
  absl::StatusOr<Tensor> gathered =
      Tensor::Allocate(Device::Cpu(), operation_->call.input.dtype(), {elements});
  DTNN_RETURN_IF_ERROR(WithContext(gathered.status(), operation_->text));
  gathered_ = *std::move(gathered);
  return absl::OkStatus();
}

// Every rank's part for every other one; those of a reduce-scatter are kept until the caller adds
// them.
absl::Status ExchangeCall::BeginParts(size_t bytes) {
  const Collective& collective = operation_->call;
  Tensor output = collective.output;
  if (collective.kind == CollectiveKind::kReduceScatter) {
    DTNN_RETURN_IF_ERROR(AllocateGathered(collective.input.num_elements()));
    output = gathered_;
  }
  if (const size_t part = bytes / size_t(size_); part > 0) {
    const size_t mine = size_t(rank_) * part;
    std::memcpy(output.raw_data() + mine, collective.input.raw_data() + mine, part);
  }
  Begin(Phase::kTensors,
        MakeSchedule(CollectiveKind::kAllToAll, rank_, size_, 0, bytes,
                     SizeOf(collective.input.dtype())),
        {.first = collective.input.raw_data(), .first_bytes = bytes, .second = output.raw_data()},
        kNone);
  return absl::OkStatus();
}

absl::Status ExchangeCall::BeginSlices(size_t bytes) {
  const Tensor& tensor = operation_->call.output;
  const size_t element = SizeOf(tensor.dtype());
  const size_t others =
      SliceOfRank(rank_, size_, bytes, element).bytes() / element * size_t(size_ - 1);
  absl::StatusOr<Tensor> slices =
      Tensor::Allocate(Device::Cpu(), tensor.dtype(), {std::max<int64_t>(1, int64_t(others))});
  DTNN_RETURN_IF_ERROR(WithContext(slices.status(), operation_->text));
  slices_ = *std::move(slices);
  Begin(Phase::kSlices, MakeSliceExchange(rank_, size_, bytes, element),
        {.first = tensor.raw_data(), .first_bytes = bytes, .second = slices_.raw_data()}, kNone);
  return absl::OkStatus();
}

void ExchangeCall::SumAndGatherSlices() {
  const Collective& collective = operation_->call;
  const Tensor& tensor = collective.output;
  const size_t element = SizeOf(tensor.dtype());
  const size_t bytes = size_t(tensor.num_elements()) * element;
  SumSlices(rank_, size_, collective.op, tensor.dtype(), bytes,
            {.first = tensor.raw_data(), .first_bytes = bytes, .second = slices_.raw_data()});
  Begin(Phase::kTensors, MakeSliceGather(rank_, size_, bytes, element),
        {.first = tensor.raw_data()}, kNone);
}

}  // namespace dtnn
