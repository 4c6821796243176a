#include "comm/federation/privacy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/secrets/ckks/samplers.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

// Over the clip.
double NoiseOfSum(const PrivacyOptions& options, int accepted, int together) {
  return options.noise * std::sqrt(double(accepted) / together);
}

}  // namespace

absl::Status Validate(const PrivacyOptions& options) {
  const auto in = [](double x, double low, double high) { return x >= low && x <= high; };
  if (!in(options.clip, 0, 1e12) || !in(options.noise, 0, 1e6) || !in(options.delta, 1e-30, 0.5)) {
    return InvalidArgument("differential privacy with clip ", options.clip, ", noise ",
                           options.noise, ", delta ", options.delta,
                           ": expected 0 to 1e12, 0 to 1e6, 1e-30 to 0.5");
  }
  if (options.on() != (options.noise > 0)) {
    return InvalidArgument("differential privacy with clip ", options.clip, " and noise ",
                           options.noise, ": needs both, or neither");
  }
  return absl::OkStatus();
}

std::string PrivacyOptions::ToString() const {
  return StrCat("differential privacy with clip ", clip, " and noise ", noise);
}

double NoiseOfClient(const PrivacyOptions& options, double factor, int together) {
  return options.noise * options.clip / (factor * std::sqrt(double(together)));
}

absl::Status MakePrivate(std::span<const float> begin, double clip, double deviation,
                         ChaCha20Stream& random, std::span<float> update) {
  double squares = 0;
  for (size_t i = 0; i < update.size(); ++i) {
    const double d = double(update[i]) - begin[i];
    squares += d * d;
  }
  if (!std::isfinite(squares)) {
    return absl::InvalidArgumentError("an update that is not finite cannot be made private");
  }
  const double step = deviation / kGridPerDeviation;
  // Rounding may lengthen it by half the diagonal of a cell.
  const double longest = std::max(0.0, clip - step * std::sqrt(double(update.size())) / 2);
  const double scale = std::min(1.0, longest / std::sqrt(squares));
  constexpr size_t kPiece = 4096;
  std::vector<int64_t> noise(std::min(kPiece, update.size()));
  for (size_t at = 0; at < update.size(); at += kPiece) {
    const size_t count = std::min(kPiece, update.size() - at);
    ckks::SampleGaussian(random, kGridPerDeviation, std::span(noise).first(count));
    for (size_t i = 0; i < count; ++i) {
      const double d = squares > 0 ? scale * (double(update[at + i]) - begin[at + i]) : 0;
      update[at + i] = float(begin[at + i] + step * (std::rint(d / step) + double(noise[i])));
    }
  }
  return absl::OkStatus();
}

void PrivacyLedger::AddRead(const PrivacyOptions& options, int accepted, int together) {
  aggregator_.Add(1, NoiseOfSum(options, accepted, together));
}

void PrivacyLedger::AddModel(const PrivacyOptions& options, int accepted, int together,
                             double sampling) {
  model_.Add(sampling, NoiseOfSum(options, accepted, together));
}

}  // namespace dtnn::federation
