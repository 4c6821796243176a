#include "comm/ranks/gradients/half_all_reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn {
namespace {

// Numbers that are converted at a time, in a buffer on the stack.
constexpr int64_t kBlock = 1024;
constexpr int64_t kBytes = sizeof(uint16_t);

// Calls body(begin, count) for the blocks of a range.
template <typename Body>
void ForBlocks(int64_t elements, const Body& body) {
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    body(size_t(begin), size_t(std::min(kBlock, elements - begin)));
  }
}

// None is infinite or NaN. Without a branch for each number.
bool AllFinite(std::span<const float> numbers) {
  uint32_t largest = 0;
  for (const float x : numbers) {
    largest = std::max(largest, std::bit_cast<uint32_t>(x) & 0x7fff'ffff);
  }
  return largest < 0x7f80'0000;
}

}  // namespace

HalfAllReduce::HalfAllReduce(Communicator& communicator, HalfType type, int64_t elements)
    : communicator_(communicator),
      type_(type),
      scale_(type == HalfType::kFloat16 ? 256.0f : 1.0f),
      elements_(elements),
      slice_(CeilDiv(elements, int64_t{communicator.size()})) {}

absl::StatusOr<std::unique_ptr<HalfAllReduce>> HalfAllReduce::Create(Communicator& communicator,
                                                                     HalfType type,
                                                                     int64_t elements) {
  if (elements < 1) return InvalidArgument("a sum of ", elements, " numbers; expected one or more");
  std::unique_ptr<HalfAllReduce> sum(new HalfAllReduce(communicator, type, elements));
  const int64_t slice_bytes = sum->slice_ * kBytes, ranks = communicator.size();
  DTNN_ASSIGN_OR_RETURN(sum->all_, Tensor::Zeros(DType::kUint8, Shape{ranks * slice_bytes}));
  DTNN_ASSIGN_OR_RETURN(sum->received_,
                        Tensor::Allocate(Device::Cpu(), DType::kUint8, Shape{ranks * slice_bytes}));
  return sum;
}

std::span<uint16_t> HalfAllReduce::Slice(int64_t of) const {
  return {reinterpret_cast<uint16_t*>(all_.raw_data()) + of * slice_, size_t(slice_)};
}

std::span<uint16_t> HalfAllReduce::Received(int from) const {
  return {reinterpret_cast<uint16_t*>(received_.raw_data()) + from * slice_, size_t(slice_)};
}

// Tells the others, who wait for this rank.
absl::Status HalfAllReduce::TooLarge(const char* what) {
  const absl::Status status = FailedPrecondition(
      what, " is too large for ",
      type_ == HalfType::kFloat16 ? "float16 on the wire, where it must be below 255.9; bfloat16 "
                                    "takes what float32 takes"
                                  : "bfloat16 on the wire, where it must be below 3.39e38");
  communicator_.Abort(status);
  return status;
}

template <typename T>
bool HalfAllReduce::Encode(std::span<const T> numbers) const {
  bool fits = true;
  const std::span<uint16_t> halves(Slice(0).data(), numbers.size());
  ForBlocks(int64_t(numbers.size()), [&](size_t begin, size_t count) {
    float block[kBlock];
    for (size_t i = 0; i < count; ++i) block[i] = float(numbers[begin + i]) * scale_;
    if (!AllFinite({block, count})) {
      for (size_t i = 0; i < count; ++i) {
        fits &= std::isfinite(block[i]) || !std::isfinite(numbers[begin + i]);
      }
    }
    fits &= ToHalves(type_, {block, count}, halves.subspan(begin, count));
  });
  return fits;
}

template <typename T>
void HalfAllReduce::Decode(std::span<T> numbers) const {
  const std::span<const uint16_t> halves(Slice(0).data(), numbers.size());
  ForBlocks(int64_t(numbers.size()), [&](size_t begin, size_t count) {
    float block[kBlock];
    FromHalves(type_, halves.subspan(begin, count), {block, count});
    for (size_t i = 0; i < count; ++i) numbers[begin + i] = T(block[i] * (1 / scale_));
  });
}

absl::Status HalfAllReduce::Begin(const Tensor& tensor) {
  Drop();
  if (!IsFloating(tensor.dtype()) || tensor.num_elements() != elements_ || !tensor.dense()) {
    return InvalidArgument("a tensor of ", tensor.num_elements(), " ", Name(tensor.dtype()),
                           " came to a sum of ", elements_, " dense floating numbers");
  }
  tensor_ = tensor;
  added_ = false;
  const bool fits = DispatchFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return Encode(std::span<const T>(tensor.data<T>(), size_t(elements_)));
  });
  if (!fits) return TooLarge("a gradient");
  work_ = communicator_.AllToAllAsync(all_, received_);
  return absl::OkStatus();
}

bool HalfAllReduce::NoneOverflowed(std::span<const float> sums, size_t begin) const {
  for (size_t i = 0; i < sums.size(); ++i) {
    bool finite = !std::isfinite(sums[i]);
    for (int rank = 0; finite && rank < communicator_.size(); ++rank) {
      float number;
      FromHalves(type_, Received(rank).subspan(begin + i, 1), {&number, 1});
      finite = std::isfinite(number);
    }
    if (finite) return false;
  }
  return true;
}

absl::Status HalfAllReduce::Add() {
  if (added_) return absl::OkStatus();
  added_ = true;
  DTNN_RETURN_IF_ERROR(work_->Wait());
  const int ranks = communicator_.size(), me = communicator_.rank();
  const std::span<uint16_t> mine = Slice(me);
  bool fits = true;
  ForBlocks(slice_, [&](size_t begin, size_t count) {
    float sum[kBlock], next[kBlock];
    FromHalves(type_, Received(0).subspan(begin, count), {sum, count});
    for (int rank = 1; rank < ranks; ++rank) {
      FromHalves(type_, Received(rank).subspan(begin, count), {next, count});
      for (size_t i = 0; i < count; ++i) sum[i] += next[i];
    }
    if (!AllFinite({sum, count})) fits &= NoneOverflowed({sum, count}, begin);
    fits &= ToHalves(type_, {sum, count}, mine.subspan(begin, count));
  });
  if (!fits) return TooLarge("a sum of gradients");
  const int64_t bytes = slice_ * kBytes;
  work_ = communicator_.AllGatherAsync(all_.Samples(me * bytes, bytes, TensorFormat::kNHWC), all_);
  return absl::OkStatus();
}

absl::Status HalfAllReduce::Finish() {
  DTNN_RETURN_IF_ERROR(Add());
  DTNN_RETURN_IF_ERROR(work_->Wait());
  work_ = nullptr;
  DispatchFloating(tensor_.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Decode(std::span<T>(tensor_.data<T>(), size_t(elements_)));
  });
  tensor_ = Tensor();
  return absl::OkStatus();
}

void HalfAllReduce::Drop() {
  work_ = nullptr;
  tensor_ = Tensor();
}

}  // namespace dtnn
