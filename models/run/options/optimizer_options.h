// The rule that updates the parameters (optim/optimizers), with its constants. A constant that is
// not set is the optimizer's own: adamw decays by 0.01, adam by 0.

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTIMIZER_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTIMIZER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "models/run/options/option_words.h"

namespace dtnn {

// How the learning rate follows the number of ranks.
enum class RateScaling : uint8_t { kNone, kDivide, kMultiply };
constexpr auto WordsOf(RateScaling) {
  return std::to_array<OptionWord<RateScaling>>({{RateScaling::kNone, "False"},
                                                 {RateScaling::kDivide, "divide"},
                                                 {RateScaling::kDivide, "True"},
                                                 {RateScaling::kMultiply, "multiply"}});
}

struct OptimizerOptions {
  std::string name = "sgd";
  double learning_rate = 0.01;
  // Before training, a range test (models/training/rates/learning_rate_range.h) finds the rate
  // instead.
  bool find_learning_rate = false;
  RateScaling learning_rate_scaling = RateScaling::kNone;  // see InitialLearningRate
  std::optional<double> momentum = {}, decay = {};
  std::optional<bool> decay_all = {};  // biases and batch normalisations too
  std::optional<bool> nesterov = {};
  std::optional<double> beta1 = {}, beta2 = {}, epsilon = {}, rho = {};
  std::optional<int64_t> tau = {};        // steps of oktopk from one set of regions to the next
  std::optional<int64_t> tau_prime = {};  // and from one exact threshold to the next
  std::optional<double> density = {};     // share of the gradients that it sends
  // Of an average of the parameters, which tests and files take instead of them; 0: there is none.
  std::optional<double> average_decay = {};

  friend bool operator==(const OptimizerOptions&, const OptimizerOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTIMIZER_OPTIONS_H_
