#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "kernels/conv/gpu/cudnn/plan.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

absl::StatusOr<std::vector<Descriptor>> Candidates(const Descriptor& graph,
                                                   const PlanTarget& target,
                                                   cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.Refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .Enum(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.device != nullptr) {
    heuristics.Refer(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.device);
  }
  heuristics.Finalize();
  DTNN_RETURN_IF_ERROR(heuristics.status());
  return heuristics.GetAll(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

std::string_view ReasonAgainst(std::span<const cudnnBackendNumericalNote_t> notes,
                               bool tensor_cores) {
  for (const cudnnBackendNumericalNote_t note : notes) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        if (tensor_cores) break;
        return "computes with tensor cores, in less than float32";
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return "rounds its inputs";
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return "adds in less than the type of its operands";
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return "gives other bits in every run";
      default:
        break;
    }
  }
  return "";
}

// Reads the engine's number; Unimplemented where it breaks a promise.
absl::StatusOr<int64_t> CheckEngine(const Descriptor& config, bool tensor_cores) {
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<Descriptor> engines,
      config.GetAll(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  if (engines.empty()) return absl::InternalError("cuDNN: a configuration without an engine");
  DTNN_ASSIGN_OR_RETURN(const int64_t engine, engines[0].GetInt(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  DTNN_ASSIGN_OR_RETURN(const int64_t count,
                        engines[0].Get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                       CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes));
  const std::string_view reason =
      ReasonAgainst({notes, size_t(std::max<int64_t>(count, 0))}, tensor_cores);
  if (reason.empty()) return engine;
  return absl::UnimplementedError(absl::StrCat("engine ", engine, " ", std::string(reason)));
}

// An engine that is compiled at run time was accepted and compiled, and could not be loaded, since
// there is only the toolkit's stub of the driver.
bool StoppedByTheStub(const absl::Status& status) {
  return status.message().find("EXECUTION_FAILED_CUDA_DRIVER") != std::string::npos;
}

absl::StatusOr<Plan> MakePlan(const Descriptor& config, const PlanTarget& target, bool tensor_cores,
                              int64_t most_workspace) {
  DTNN_ASSIGN_OR_RETURN(const int64_t engine, CheckEngine(config, tensor_cores));
  Descriptor descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle != nullptr) {
    descriptor.Enum(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
  descriptor.Refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config).Finalize();
  Plan plan = {.plan = descriptor, .engine = engine};
  if (target.device != nullptr && StoppedByTheStub(descriptor.status())) {
    plan.only_compiled = true;
    DTNN_ASSIGN_OR_RETURN(plan.workspace_bytes, config.GetInt(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
  } else {
    DTNN_ASSIGN_OR_RETURN(plan.workspace_bytes,
                          descriptor.GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  }
  if (plan.workspace_bytes <= most_workspace) return plan;
  return absl::UnimplementedError(absl::StrCat("engine ", engine, " needs a workspace of ",
                                               plan.workspace_bytes, " bytes, more than ",
                                               most_workspace));
}

}  // namespace

absl::StatusOr<Plan> ChoosePlan(const Descriptor& graph, const PlanTarget& target,
                                bool tensor_cores, int64_t most_workspace) {
  std::string reason = "cuDNN knows no engine";
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const absl::StatusOr<std::vector<Descriptor>> configs = Candidates(graph, target, mode);
    if (!configs.ok()) {
      reason = std::string(configs.status().message());
      continue;
    }
    for (const Descriptor& config : *configs) {
      absl::StatusOr<Plan> plan = MakePlan(config, target, tensor_cores, most_workspace);
      if (plan.ok()) return plan;
      reason = std::string(plan.status().message());
    }
  }
  return absl::UnimplementedError(reason);
}

}  // namespace dtnn::cudnn
