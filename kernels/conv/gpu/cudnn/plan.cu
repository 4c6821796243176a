#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

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
                               const PlanRequest& request) {
  for (const cudnnBackendNumericalNote_t note : notes) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        if (request.tensor_cores) break;
        return "computes with tensor cores, in less than float32";
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return "rounds its inputs";
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return "adds in less than the type of its operands";
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        if (request.transforms) break;
        return "multiplies transforms of its operands, which rounds more than their sums of "
               "products";
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return "gives other bits in every run";
      default:
        break;
    }
  }
  return "";
}

// Reads the engine's number; Unimplemented where it breaks a promise.
absl::StatusOr<int64_t> CheckEngine(const Descriptor& config, const PlanRequest& request) {
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
      ReasonAgainst({notes, size_t(std::max<int64_t>(count, 0))}, request);
  if (reason.empty()) return engine;
  return absl::UnimplementedError(absl::StrCat("engine ", engine, " ", std::string(reason)));
}

// The name of what heuristics propose: one engine comes with several settings.
absl::StatusOr<std::string> NameOf(const Descriptor& config, int64_t engine) {
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<Descriptor> knobs,
      config.GetAll(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
  std::string name = absl::StrCat("engine", engine);
  for (const Descriptor& knob : knobs) {
    cudnnBackendKnobType_t type = {};
    DTNN_RETURN_IF_ERROR(
        knob.Get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type).status());
    DTNN_ASSIGN_OR_RETURN(const int64_t value, knob.GetInt(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
    // In a plan from a text, those that were not chosen.
    if (value == -1) continue;
    absl::StrAppend(&name, ".k", int(type), "v", value);
  }
  return name;
}

// An engine that is compiled at run time was accepted and compiled, and could not be loaded, since
// there is only the toolkit's stub of the driver.
bool StoppedByTheStub(const absl::Status& status) {
  return status.message().find("EXECUTION_FAILED_CUDA_DRIVER") != std::string::npos;
}

absl::Status CheckWorkspace(int64_t engine, int64_t bytes, const PlanRequest& request) {
  if (bytes <= request.most_workspace) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("engine ", engine, " needs a workspace of ", bytes,
                                               " bytes, more than ", request.most_workspace));
}

absl::StatusOr<Plan> MakePlan(const Descriptor& config, const PlanRequest& request,
                              std::string_view name) {
  DTNN_ASSIGN_OR_RETURN(const int64_t engine, CheckEngine(config, request));
  DTNN_ASSIGN_OR_RETURN(std::string own_name, NameOf(config, engine));
  if (!name.empty() && own_name != name) {
    return absl::NotFoundError(absl::StrCat("the last is ", own_name));
  }
  // Making a plan may take a second: not of one that would not do.
  const absl::StatusOr<int64_t> expected = config.GetInt(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
  if (expected.ok()) DTNN_RETURN_IF_ERROR(CheckWorkspace(engine, *expected, request));
  const PlanTarget& target = request.target;
  Descriptor descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle != nullptr) {
    descriptor.Enum(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
  descriptor.Refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config).Finalize();
  Plan plan = {.plan = descriptor, .engine = engine, .name = std::move(own_name)};
  if (target.device != nullptr && StoppedByTheStub(descriptor.status())) {
    plan.only_compiled = true;
    DTNN_ASSIGN_OR_RETURN(plan.workspace_bytes, expected);
  } else {
    DTNN_ASSIGN_OR_RETURN(plan.workspace_bytes,
                          descriptor.GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  }
  DTNN_RETURN_IF_ERROR(CheckWorkspace(engine, plan.workspace_bytes, request));
  return plan;
}

// `name`: of the only one that is wanted, or empty.
absl::StatusOr<std::vector<Plan>> FindPlans(const PlanRequest& request, size_t most,
                                            std::string_view name) {
  std::vector<Plan> found;
  absl::Status reason = absl::UnimplementedError("cuDNN knows no engine");
  absl::Status failure;  // the first that says more than that something is not supported
  const auto note = [&](const absl::Status& status) {
    reason = status;
    if (!absl::IsUnimplemented(status) && !absl::IsNotFound(status)) failure.Update(status);
  };
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    const absl::StatusOr<std::vector<Descriptor>> configs =
        Candidates(*request.graph, request.target, mode);
    if (!configs.ok()) {
      note(configs.status());
      continue;
    }
    for (const Descriptor& config : *configs) {
      if (found.size() == most) return found;
      absl::StatusOr<Plan> plan = MakePlan(config, request, name);
      if (!plan.ok()) {
        note(plan.status());
        continue;
      }
      // The fallback proposes some again.
      const bool again = std::any_of(found.begin(), found.end(),
                                     [&](const Plan& each) { return each.name == plan->name; });
      if (!again) found.push_back(*std::move(plan));
    }
  }
  if (!found.empty()) return found;
  if (!failure.ok()) return failure;
  return absl::UnimplementedError(reason.message());
}

}  // namespace

absl::StatusOr<std::vector<Plan>> ListPlans(const PlanRequest& request, size_t most) {
  return FindPlans(request, most, "");
}

absl::StatusOr<Plan> ChoosePlan(const PlanRequest& request) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<Plan> plans, FindPlans(request, 1, ""));
  return plans[0];
}

absl::StatusOr<Plan> PlanNamed(const PlanRequest& request, std::string_view name) {
  absl::StatusOr<std::vector<Plan>> plans = FindPlans(request, 1, name);
  if (plans.ok()) return (*plans)[0];
  return absl::NotFoundError(absl::StrCat("cuDNN has no plan ", std::string(name),
                                          " that keeps to the workspace and the precision; ",
                                          std::string(plans.status().message())));
}

absl::StatusOr<std::string> TextOfPlan(const Plan& plan) {
  return plan.plan.GetText(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
}

absl::StatusOr<Plan> RestorePlan(const PlanRequest& request, std::string_view text) {
  Descriptor descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  // cuDNN crashes without either.
  if (request.target.handle != nullptr) {
    descriptor.Enum(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, request.target.handle);
  } else {
    descriptor.Refer(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *request.target.device);
  }
  descriptor.Text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, text).Finalize();
  DTNN_RETURN_IF_ERROR(descriptor.status());
  DTNN_ASSIGN_OR_RETURN(const std::vector<Descriptor> configs,
                        descriptor.GetAll(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                          CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  if (configs.empty()) return absl::InternalError("cuDNN: a plan without a configuration");
  Plan plan = {.plan = descriptor, .name = ""};
  DTNN_ASSIGN_OR_RETURN(plan.engine, CheckEngine(configs[0], request));
  DTNN_ASSIGN_OR_RETURN(plan.name, NameOf(configs[0], plan.engine));
  DTNN_ASSIGN_OR_RETURN(plan.workspace_bytes,
                        descriptor.GetInt(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  DTNN_RETURN_IF_ERROR(CheckWorkspace(plan.engine, plan.workspace_bytes, request));
  return plan;
}

}  // namespace dtnn::cudnn
