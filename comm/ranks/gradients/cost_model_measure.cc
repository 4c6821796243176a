#include "comm/ranks/gradients/cost_model_measure.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "comm/ranks/gradients/half_all_reduce.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

constexpr int kRepetitions = 11;
// A message that is all latency; those that tell the bandwidth: the longest of them, or the first
// that takes long. What buffers and rate limits let through at once is little to these.
constexpr int64_t kShortBytes = 64, kLongBytes[] = {256 << 10, 1 << 20, 4 << 20};
constexpr double kLongEnough = 0.1;  // seconds

// Half the time in which a message goes from `rank` to `other` and comes back.
absl::StatusOr<double> MessageSeconds(Communicator& communicator, int rank, int other,
                                      int64_t bytes) {
  DTNN_ASSIGN_OR_RETURN(const Tensor message, Tensor::Zeros(DType::kUint8, Shape{bytes}));
  std::vector<double> times(kRepetitions);
  for (double& time : times) {
    const Stopwatch watch;
    if (communicator.rank() == rank) {
      DTNN_RETURN_IF_ERROR(communicator.Send(message, other));
      DTNN_RETURN_IF_ERROR(communicator.Receive(message, other));
      time = watch.seconds() / 2;
    } else if (communicator.rank() == other) {
      DTNN_RETURN_IF_ERROR(communicator.Receive(message, rank));
      DTNN_RETURN_IF_ERROR(communicator.Send(message, rank));
    }
  }
  DTNN_RETURN_IF_ERROR(TakeLargest(communicator, times));
  return Median(std::move(times));
}

}  // namespace

absl::Status TakeLargest(Communicator& communicator, std::span<double> values) {
  if (values.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Tensor tensor,
                        Tensor::Zeros(DType::kFloat64, Shape{int64_t(values.size())}));
  std::copy(values.begin(), values.end(), tensor.data<double>());
  DTNN_RETURN_IF_ERROR(communicator.AllReduce(tensor, ReduceOp::kMax));
  std::copy_n(tensor.data<double>(), values.size(), values.begin());
  return absl::OkStatus();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

absl::StatusOr<LinkCost> MeasureLink(Communicator& communicator, int rank, int other) {
  LinkCost link;
  DTNN_ASSIGN_OR_RETURN(link.latency, MessageSeconds(communicator, rank, other, kShortBytes));
  for (const int64_t bytes : kLongBytes) {
    DTNN_ASSIGN_OR_RETURN(const double seconds, MessageSeconds(communicator, rank, other, bytes));
    link.seconds_per_byte = std::max(0.0, seconds - link.latency) / double(bytes);
    if (seconds > kLongEnough) break;
  }
  return link;
}

absl::StatusOr<double> MeasureAllReduce(Communicator& communicator, int64_t elements,
                                        std::optional<HalfType> wire) {
  std::unique_ptr<HalfAllReduce> halves;
  if (wire) {
    DTNN_ASSIGN_OR_RETURN(halves, HalfAllReduce::Create(communicator, *wire, elements));
  }
  DTNN_ASSIGN_OR_RETURN(const Tensor tensor, Tensor::Zeros(DType::kFloat32, Shape{elements}));
  std::vector<double> times(kRepetitions);
  for (double& time : times) {
    DTNN_RETURN_IF_ERROR(communicator.Barrier());
    const Stopwatch watch;
    if (halves == nullptr) {
      DTNN_RETURN_IF_ERROR(communicator.AllReduce(tensor));
    } else {
      DTNN_RETURN_IF_ERROR(halves->Begin(tensor));
      DTNN_RETURN_IF_ERROR(halves->Finish());
    }
    time = watch.seconds();
  }
  DTNN_RETURN_IF_ERROR(TakeLargest(communicator, times));
  return Median(std::move(times));
}

double MeasureAddition() {
  std::vector<float> sum(size_t{1} << 18), received(sum.size(), 1.0f);
  std::vector<double> times;
  for (int i = 0; i < kRepetitions; ++i) {
    const Stopwatch watch;
    std::transform(sum.begin(), sum.end(), received.begin(), sum.begin(), std::plus<float>());
    times.push_back(watch.seconds());
  }
  return Median(times) / double(sum.size() * sizeof(float));
}

}  // namespace dtnn
