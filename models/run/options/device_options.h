// What a run computes on, and by which kernels.

#ifndef DTNN_MODELS_RUN_OPTIONS_DEVICE_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_DEVICE_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "kernels/device/math_mode.h"
#include "models/run/options/option_words.h"

namespace dtnn {

constexpr auto WordsOf(MathMode) {
  return std::to_array<OptionWord<MathMode>>({{MathMode::kFp32, "fp32"},
                                              {MathMode::kTf32, "tf32"},
                                              {MathMode::kBf16, "bf16"},
                                              {MathMode::kFp16, "fp16"}});
}

// In evaluation; what is not set is done (models/plan/fusions.h), but not talked of.
struct FusionOptions {
  std::optional<bool> conv_bn = {}, conv_bn_relu = {}, conv_relu = {}, bn_relu = {};

  friend bool operator==(const FusionOptions&, const FusionOptions&) = default;
};

struct DeviceOptions {
  bool gpu = false;
  std::string gpu_device = "cuda";  // or simulated
  MathMode math_mode = MathMode::kFp32;
  bool gpudirect = false;
  bool nccl = false;
  bool cuda_graphs = true;
  bool time_cudnn = false;       // cuDNN's algorithms are chosen by timing
  std::string cudnn_plans = {};  // folder; empty: plans are made in every run
  bool keep_workspaces = true;   // false: allocated in each call, to show what that costs
  FusionOptions fusions = {};

  friend bool operator==(const DeviceOptions&, const DeviceOptions&) = default;
};

// Algorithms of convolutions on CPUs.
struct ConvolutionOptions {
  std::string variant = "auto";    // kernels/conv/variants.inc
  std::string direct_method = {};  // kernels/conv/choice/direct_methods.h, of variant direct
  bool best_of = false;            // the fastest is found by timing
  std::vector<std::string> best_of_methods = {};  // by whose names BestOf reports variants
  std::string best_of_file = {};                  // which keeps its decisions; empty: none

  friend bool operator==(const ConvolutionOptions&, const ConvolutionOptions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_DEVICE_OPTIONS_H_
