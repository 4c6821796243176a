#include "comm/federation/privacy/privacy.h"

#include <algorithm>
#include <array>
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
  if (!options.adapts()) {
    if (options.quantile == 0) return absl::OkStatus();
    return InvalidArgument("a clip that adapts to the quantile ", options.quantile,
                           ": expected more than 0, less than 1");
  }
  if (!options.on()) {
    return InvalidArgument("a clip that adapts to the quantile ", options.quantile,
                           ": needs differential privacy, with a first clip and noise");
  }
  if (!(options.quantile < 1) || !(options.clip_rate > 0 && options.clip_rate <= 10) ||
      !in(options.bit_noise, 0, 1e6)) {
    return InvalidArgument("a clip that adapts to the quantile ", options.quantile, " at the rate ",
                           options.clip_rate, ", with noise ", options.bit_noise,
                           " of its bits: expected more than 0 and less than 1, more than 0 to 10, "
                           "0 to 1e6");
  }
  if (2 * options.bits() > options.noise) return absl::OkStatus();
  return InvalidArgument("a clip that adapts, with noise ", options.bits(),
                         " of its bits: expected more than half of the noise ", options.noise,
                         ", of which the updates need the rest");
}

double PrivacyOptions::update_noise() const {
  if (!adapts()) return noise;
  const double share = noise / (2 * bits());
  return noise / std::sqrt(1 - share * share);
}

PrivacyOptions PrivacyOptions::WithClip(double of_round) const {
  PrivacyOptions options = *this;
  if (of_round > 0) options.clip = of_round;
  return options;
}

std::string PrivacyOptions::ToString() const {
  const std::string fixed = StrCat("differential privacy with clip ", clip, " and noise ", noise);
  if (!adapts()) return fixed;
  return StrCat(fixed, ", where the clip follows the quantile ", quantile, " at the rate ",
                clip_rate, ", with noise ", bits(), " of its bits");
}

double NoiseOfClient(const PrivacyOptions& options, double factor, int together) {
  return options.update_noise() * options.clip / (factor * std::sqrt(double(together)));
}

namespace {

// By which bits are multiplied: sums hold no large numbers (masked_protocol.cc).
double ScaleOfBits(const PrivacyOptions& options) { return 1 / std::max(1.0, options.bits()); }

}  // namespace

float NumberOfBit(const PrivacyOptions& options, bool below, double factor, int together,
                  ChaCha20Stream& random) {
  const double step = options.bits() / (factor * std::sqrt(double(together))) / kGridPerDeviation;
  std::array<int64_t, 1> noise{};
  ckks::SampleGaussian(random, kGridPerDeviation, noise);
  // Towards 0: not more than 1/2.
  const double bit = std::trunc((below ? 0.5 : -0.5) / step);
  return float(ScaleOfBits(options) * step * (bit + double(noise[0])));
}

absl::Status CheckNumberOfBit(const PrivacyOptions& options, double number) {
  const double most = ScaleOfBits(options) * (0.5 + 10 * options.bits());
  if (std::abs(number) <= most) return absl::OkStatus();
  return absl::OutOfRangeError(StrCat("its update says ", number,
                                      " of the clip, where its noise allows ", most, " at most"));
}

double ShareBelow(const PrivacyOptions& options, double mean) {
  return mean / ScaleOfBits(options) + 0.5;
}

double NearFirstClip(const PrivacyOptions& options, double clip) {
  return std::clamp(clip, options.clip / kMostClipChange, options.clip * kMostClipChange);
}

double NextClip(const PrivacyOptions& options, double clip, double below) {
  // A mean of plain numbers is beyond 0 to 1 by noise, or by a client that lies.
  const double distance = std::clamp(below, -1.0, 2.0) - options.quantile;
  return NearFirstClip(options, clip * std::exp(-options.clip_rate * distance));
}

double LongestBeforeRounding(double clip, double step, size_t elements) {
  return clip - step * std::sqrt(double(elements)) / 2;
}

absl::StatusOr<bool> MakePrivate(std::span<const float> begin, double clip, double deviation,
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
  const double longest = std::max(0.0, LongestBeforeRounding(clip, step, update.size()));
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
  return std::sqrt(squares) <= clip;
}

void PrivacyLedger::AddRead(const PrivacyOptions& options, int accepted, int together) {
  aggregator_.Add(1, NoiseOfSum(options, accepted, together));
}

void PrivacyLedger::AddModel(const PrivacyOptions& options, int accepted, int together,
                             double sampling) {
  model_.Add(sampling, NoiseOfSum(options, accepted, together));
}

}  // namespace dtnn::federation
