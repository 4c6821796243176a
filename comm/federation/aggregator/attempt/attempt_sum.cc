#include "comm/federation/aggregator/attempt/attempt_sum.h"

#include <utility>

#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/privacy/privacy.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

absl::Status Stopped() { return absl::CancelledError("the sum was stopped"); }

}  // namespace

AttemptSum::AttemptSum(const SumOptions& options, const Protector& protector, size_t values,
                       std::unique_ptr<codec::UpdateServer> codec)
    : options_(options),
      protector_(protector),
      shape_{.values = values, .chunk_values = protector.chunk_values()},
      codec_(std::move(codec)) {}

absl::Status AttemptSum::Add(int position, double factor, std::vector<Bytes> chunks) {
  if (protector_.protection() == Protection::kNone) return AddPlain(position, factor, chunks);
  return AddProtected(position, chunks);
}

absl::Status AttemptSum::AddPlain(int position, double factor, std::vector<Bytes>& chunks) {
  std::vector<float> values(shape_.values);
  DTNN_RETURN_IF_ERROR(ReadUpdate(*codec_, options_.attempt, position, shape_, chunks, values));
  if (options_.compression.on()) {
    AddBegin(options_.parameters, options_.trainable, factor, values);
  }
  DTNN_RETURN_IF_ERROR(CheckUpdate(values, factor, options_.parameters, options_.max_update_norm));
  if (protector_.privacy().adapts()) {
    DTNN_RETURN_IF_ERROR(CheckNumberOfBit(protector_.privacy(), values.back()));
  }
  if (options_.robust.on()) {
    kept_[position] = std::move(values);
    return absl::OkStatus();
  }
  if (!plain_) plain_.emplace(shape_.values);
  plain_->Add(values);
  return absl::OkStatus();
}

// All chunks are checked before any is added.
absl::Status AttemptSum::AddProtected(int position, std::vector<Bytes>& chunks) {
  DTNN_RETURN_IF_ERROR(ReadUpdate(*codec_, options_.attempt, position, shape_, chunks, {}));
  for (size_t chunk = sums_.size(); chunk < shape_.chunks(); ++chunk) {
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum,
                          codec_->NewSum({options_.attempt, uint32_t(chunk)}, shape_.size(chunk)));
    sums_.push_back(std::move(sum));
  }
  const absl::Status added = ForEachChunk(shape_, [&](size_t chunk) {
    const absl::Status status = sums_[chunk].Add(position, chunks[chunk]);
    Free(chunks[chunk]);
    return status;
  });
  broken_.Update(added);
  return added;
}

absl::StatusOr<std::vector<float>> AttemptSum::Mean(const std::map<int, double>& factors,
                                                    const std::stop_token& stop) {
  double divisor = 0;
  std::vector<WeightedUpdate> updates;
  for (const auto& [position, factor] : factors) {
    divisor += factor;
    if (options_.robust.on()) updates.push_back({.values = kept_.at(position), .factor = factor});
  }
  if (options_.robust.on()) {
    std::vector<float> mean = RobustMean(options_.robust, updates, options_.parameters, stop);
    if (stop.stop_requested()) return Stopped();
    return mean;
  }
  if (protector_.protection() == Protection::kNone) return plain_->Mean(divisor);
  DTNN_ASSIGN_OR_RETURN(std::vector<float> mean, ReadSums(stop));
  for (float& x : mean) x = float(x / divisor);
  if (AreNumbersOfNetworks(mean, 1)) return mean;
  return absl::DataLossError("the mean is not that of a network");
}

absl::StatusOr<std::vector<float>> AttemptSum::ReadSums(const std::stop_token& stop) {
  DTNN_RETURN_IF_ERROR(broken_);
  std::vector<float> sum(shape_.values);
  DTNN_RETURN_IF_ERROR(ForEachChunk(shape_, [&](size_t chunk) {
    if (stop.stop_requested()) return Stopped();
    return sums_[chunk].Read(
        std::span(sum).subspan(chunk * shape_.chunk_values, shape_.size(chunk)));
  }));
  return sum;
}

absl::StatusOr<std::vector<Bytes>> AttemptSum::Encrypted(const std::stop_token& stop) {
  DTNN_RETURN_IF_ERROR(broken_);
  std::vector<Bytes> encrypted(shape_.chunks());
  DTNN_RETURN_IF_ERROR(ForEachChunk(shape_, [&](size_t chunk) -> absl::Status {
    if (stop.stop_requested()) return Stopped();
    DTNN_ASSIGN_OR_RETURN(encrypted[chunk], sums_[chunk].Result());
    return absl::OkStatus();
  }));
  return encrypted;
}

absl::StatusOr<Bytes> AttemptSum::Question(size_t chunk) {
  DTNN_RETURN_IF_ERROR(broken_);
  return sums_[chunk].Question();
}

absl::Status AttemptSum::AddAnswer(size_t chunk, int position, std::span<const uint8_t> answer) {
  return sums_[chunk].AddAnswer(position, answer);
}

}  // namespace dtnn::federation
