#include "comm/federation/aggregator/strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

constexpr std::array<std::pair<std::string_view, Strategy>, 10> kNames = {
    {{"avg", Strategy::kAvg},
     {"wavg", Strategy::kWavg},
     {"invwavg", Strategy::kInvwavg},
     {"fedprox", Strategy::kFedprox},
     {"fednova", Strategy::kFednova},
     {"scaffold", Strategy::kScaffold},
     {"fedavgm", Strategy::kFedavgm},
     {"fedadam", Strategy::kFedadam},
     {"fedyogi", Strategy::kFedyogi},
     {"fedadagrad", Strategy::kFedadagrad}}};

// The step of fednova towards the average: the mean steps times the mean of their inverses, so 1
// where all clients make as many.
double StepOfNova(std::span<const ClientWork> works) {
  double samples = 0, steps = 0, inverse = 0;
  for (const ClientWork& work : works) {
    samples += double(work.samples);
    steps += double(work.samples) * double(work.steps);
    inverse += double(work.samples) / double(work.steps);
  }
  return samples > 0 ? steps / samples * (inverse / samples) : 1;
}

// w + step (average - w).
void FollowStep(double step, std::span<const float> average, std::span<float> w) {
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = float(w[i] + step * (double(average[i]) - w[i]));
  }
}

// g = w - average; v = beta v + g; w = w - rate v.
void FollowMomentum(const StrategyOptions& options, std::span<const float> average,
                    std::span<float> velocity, std::span<float> w) {
  for (size_t i = 0; i < w.size(); ++i) {
    const double v = options.momentum * velocity[i] + (double(w[i]) - average[i]);
    velocity[i] = float(v);
    w[i] = float(w[i] - options.rate() * v);
  }
}

// The next v, with the square of a difference.
double NextSecond(const StrategyOptions& options, double v, double square) {
  const double share = 1 - options.second_moment;
  switch (options.strategy) {
    case Strategy::kFedyogi:
      return v < square ? v + share * square : v > square ? v - share * square : v;
    case Strategy::kFedadagrad:
      return v + square;
    default:
      return options.second_moment * v + share * square;
  }
}

// strategy.h; the corrections of bias are in the rate.
void FollowAdaptively(const StrategyOptions& options, std::span<const float> average,
                      int64_t update, std::span<float> first, std::span<float> second,
                      std::span<float> w) {
  const double b1 = options.momentum, b2 = options.second_moment;
  const bool decays = options.strategy != Strategy::kFedadagrad;
  const double of_second = decays ? std::sqrt(1 - std::pow(b2, double(update))) : 1;
  const double rate = options.rate() * of_second / (1 - std::pow(b1, double(update)));
  for (size_t i = 0; i < w.size(); ++i) {
    const double d = double(average[i]) - w[i];
    const double m = b1 * first[i] + (1 - b1) * d;
    const double v = NextSecond(options, second[i], d * d);
    first[i] = float(m);
    second[i] = float(v);
    w[i] = float(w[i] + rate * m / (std::sqrt(v) + options.adaptivity));
  }
}

}  // namespace

std::optional<Strategy> ParseStrategy(std::string_view name) {
  for (const auto& [word, strategy] : kNames) {
    if (word == name) return strategy;
  }
  return std::nullopt;
}

std::string_view Name(Strategy strategy) {
  return std::ranges::find(kNames, strategy, &decltype(kNames)::value_type::second)->first;
}

absl::Status Validate(const StrategyOptions& options) {
  const auto in = [](double x, double low, double high) { return x >= low && x < high; };
  if (!in(options.momentum, 0, 1) || !in(options.second_moment, 0, 1)) {
    return InvalidArgument("strategy ", Name(options.strategy), ": momentum ", options.momentum,
                           " and ", options.second_moment,
                           " for squares: both must be >= 0 and "
                           "< 1");
  }
  if (!in(options.learning_rate, 0, 1e38) || !in(options.proximal, 0, 1e38) ||
      !in(options.adaptivity, 1e-30, 1e38)) {
    return InvalidArgument("strategy ", Name(options.strategy), ": learning rate ",
                           options.learning_rate, ", proximal term ", options.proximal,
                           ", adaptivity ", options.adaptivity, ": expected numbers >= 0");
  }
  return absl::OkStatus();
}

absl::Status CheckControls(const StrategyOptions& options, const ProtectionOptions& protection,
                           bool keeps_parameters) {
  if (!options.controls()) return absl::OkStatus();
  const std::string_view what = protection.privacy.on()
                                    ? "differential privacy: clip and noise are those of parameters"
                                : keeps_parameters ? "parameters that stay with clients"
                                                   : "";
  if (what.empty()) return absl::OkStatus();
  return InvalidArgument("strategy ", Name(options.strategy),
                         " sends control variates, and not with ", what);
}

RankWeighting WeightingOf(Strategy strategy) {
  if (strategy == Strategy::kAvg) return RankWeighting::kEqual;
  return strategy == Strategy::kInvwavg ? RankWeighting::kInverseSamples : RankWeighting::kSamples;
}

void MoveControl(std::span<const float> change, double share, std::span<float> control) {
  for (size_t i = 0; i < control.size(); ++i) {
    control[i] = float(control[i] + share * double(change[i]));
  }
}

void Follow(const StrategyOptions& options, std::span<const float> average, size_t trainable,
            std::span<const ClientWork> works, Moments& moments, std::span<float> parameters) {
  ++moments.updates;
  size_t averaged_from = 0;
  const std::span<const float> of_trainable = average.first(trainable);
  if (options.by_steps()) {
    averaged_from = trainable;
    FollowStep(StepOfNova(works), of_trainable, parameters.first(trainable));
  } else if (options.controls()) {
    averaged_from = options.rate() == 1 ? 0 : trainable;
    if (options.rate() != 1) FollowStep(options.rate(), of_trainable, parameters.first(trainable));
  } else if (options.reads_average()) {
    averaged_from = trainable;
    moments.first.resize(trainable);
    if (options.strategy == Strategy::kFedavgm) {
      FollowMomentum(options, of_trainable, moments.first, parameters.first(trainable));
    } else {
      moments.second.resize(trainable);
      FollowAdaptively(options, of_trainable, moments.updates, moments.first, moments.second,
                       parameters.first(trainable));
    }
  }
  std::ranges::copy(average.subspan(averaged_from), parameters.begin() + int64_t(averaged_from));
}

}  // namespace dtnn::federation
