// What a run computes on, and by which kernels.

#ifndef DTNN_MODELS_RUN_OPTIONS_DEVICE_OPTIONS_H_
#define DTNN_MODELS_RUN_OPTIONS_DEVICE_OPTIONS_H_

#include <string>
#include <vector>

#include "models/plan/fusions.h"

namespace dtnn {

struct DeviceOptions {
  bool gpu = false;
  std::string gpu_device = "cuda";  // or simulated
  std::string math_mode = "fp32";   // a name of kMathModes
  bool gpudirect = false;
  bool nccl = false;
  bool cuda_graphs = true;
  bool time_cudnn = false;       // cuDNN's algorithms are chosen by timing
  std::string cudnn_plans = {};  // folder; empty: plans are made in every run
  bool keep_workspaces = true;   // false: allocated in each call, to show what that costs
  Fusions fusions = {};          // in evaluation

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
