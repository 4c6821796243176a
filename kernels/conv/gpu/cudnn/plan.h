// Execution plans of cuDNN for an operation graph: engines in the order of its heuristics, of which
// only those are taken that keep this project's promises. float32 is computed in full precision (no
// TF32 unless that is allowed, no conversion of inputs, no Winograd or FFT, whose transforms round
// more than the sums of products do), sums have one order and are not rounded to less than float32,
// and the workspace stays below a limit. Tensor cores compute float64 and products of 16 bits in
// full, and are taken for them. For .cu files.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_PLAN_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/conv/gpu/cudnn/descriptor.h"

namespace dtnn::cudnn {

// What plans are made for: the device of a handle, or one that is only described (a finalized
// CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), whose plans cannot run here.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  const Descriptor* device = nullptr;
};

struct Plan {
  Descriptor plan;
  int64_t workspace_bytes = 0;
  int64_t engine = -1;
  // The engine with its settings, as a word: "engine6.k2v1.k24v16".
  std::string name;
  // Only for a described device: the engine was compiled, and a stub of the driver did not load it.
  bool only_compiled = false;
};

struct PlanRequest {
  const Descriptor* graph = nullptr;
  PlanTarget target;
  bool tensor_cores = false;  // whether they may compute it
  bool transforms = false;    // whether Winograd's or FFT's may
  int64_t most_workspace = 0;
};

// The first `most` plans, at least one. Unimplemented, with the reason against the last engine,
// where no engine will do; where one of them failed in another way than that cuDNN does not support
// it, that error.
absl::StatusOr<std::vector<Plan>> ListPlans(const PlanRequest& request, size_t most);
// The first of them.
absl::StatusOr<Plan> ChoosePlan(const PlanRequest& request);
// The one of that name. NotFound where there is none.
absl::StatusOr<Plan> PlanNamed(const PlanRequest& request, std::string_view name);

// A plan as a text, which cuDNN of the same version reads for the same kind of device: its graph,
// engine and what was compiled for it.
absl::StatusOr<std::string> TextOfPlan(const Plan& plan);
// The plan of such a text, without asking heuristics. An error where cuDNN does not read it, or it
// breaks a promise. That it is one for the graph of the request, the caller knows.
absl::StatusOr<Plan> RestorePlan(const PlanRequest& request, std::string_view text);

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_PLAN_H_
