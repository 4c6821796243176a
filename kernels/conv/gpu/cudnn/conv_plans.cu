#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/conv/gpu/cudnn/conv_plans.h"
#include "kernels/conv/gpu/cudnn/random_body.h"
#include "kernels/conv/gpu/library_key.h"
#include "kernels/device/gpu_seconds.h"
#include "kernels/gpu/runner.h"
#include "tensor/buffer.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

using conv::Direction;

// Plans for calls with other batches, pitches or alignments.
constexpr size_t kMostOtherPlans = 64;
// By a tuner; heuristics seldom put the fastest after these.
constexpr size_t kMostTimedPlans = 8;
// A call may take a few microseconds, which a clock does not tell well.
constexpr int kTimedCalls = 10;

// Operands of a dense call, to time plans with.
struct Workbench {
  absl::Status Fill(const GpuRunner& runner, const Conv2dSpec& spec, const CallShape& call,
                    int64_t scratch_bytes) {
    const auto add = [&](int64_t name, int64_t elements) -> absl::Status {
      DTNN_ASSIGN_OR_RETURN(operands.emplace_back(),
                            Tensor::Allocate(runner.device(), spec.dtype, {elements}));
      pack.Add(name, operands.back());
      return DispatchGpuFloating(spec.dtype, [&]<typename T>(T) {
        const RandomBody<T> body = {StreamId(RandomPurpose::kSynthetic, uint64_t(name)), elements,
                                    operands.back().data<T>()};
        return runner.ForEach("random operand", body.threads(), body);
      });
    };
    DTNN_RETURN_IF_ERROR(add(kX, spec.InputShape().NumElements()));
    DTNN_RETURN_IF_ERROR(add(kY, spec.OutputShape().NumElements()));
    DTNN_RETURN_IF_ERROR(add(kFilter, spec.FilterShape().NumElements()));
    if (call.direction == Direction::kForward) {
      const Epilogue& epilogue = spec.epilogue;
      if (epilogue.scale) DTNN_RETURN_IF_ERROR(add(kScale, spec.filters));
      if (epilogue.bias) DTNN_RETURN_IF_ERROR(add(kBias, spec.filters));
      if (epilogue.add) DTNN_RETURN_IF_ERROR(add(kAddend, spec.OutputShape().NumElements()));
    }
    DTNN_ASSIGN_OR_RETURN(
        scratch, Buffer::Allocate(runner.device(), size_t(std::max<int64_t>(scratch_bytes, 1))));
    return absl::OkStatus();
  }

  std::vector<Tensor> operands;
  std::shared_ptr<Buffer> scratch;
  Pack pack;
};

// `name`: of the plan that was decided for; empty: cuDNN's own choice.
std::string FileKey(const BestOfKey& key, std::string_view name) {
  return absl::StrCat(key.ToString(), name.empty() ? "/guessed" : "/timed");
}

void WarnOf(const KeptPlans& kept, const std::string& file_key, std::string_view what,
            const absl::Status& why) {
  kept.Warn(absl::StrCat(file_key, ": ", std::string(what), ": ", std::string(why.message())));
}

}  // namespace

absl::Status ConvPlans::MakeFirst(const conv::Directions& directions) {
  DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
  std::string reasons;
  for (const CallShape& call : FirstCalls(spec_, directions)) {
    bool& computes = computes_[call.direction];
    if (call.accumulate && !computes) continue;
    const PlanCache<Plan>::Kept plan = FirstPlan(call);
    if (absl::IsNotFound(plan.status())) return plan.status();
    if (!plan.ok() && !absl::IsUnimplemented(plan.status())) return Failure(call, plan.status());
    if (plan.ok() || call.accumulate) {
      if (plan.ok()) workspace_bytes_ = std::max(workspace_bytes_, (*plan)->workspace_bytes);
      first_[call] = plan.ok() ? *plan : nullptr;
      computes = true;
    } else {
      absl::StrAppend(&reasons, reasons.empty() ? "" : "; ",
                      std::string(conv::Name(call.direction)), ": ", plan.status().message());
    }
  }
  if (!first_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(reasons);
}

PlanRequest ConvPlans::RequestOf(const Descriptor& graph, int64_t most_workspace) const {
  return {.graph = &graph,
          .target = {.handle = library_->handle()},
          .tensor_cores = MayUseTensorCores(spec_),
          .transforms = MayUseTransforms(spec_),
          .most_workspace = most_workspace};
}

absl::Status ConvPlans::Failure(const CallShape& call, const absl::Status& why) const {
  return absl::Status(why.code(), absl::StrCat("convolution ", spec_.ToString(), ", ",
                                               std::string(conv::Name(call.direction)),
                                               ", making a plan: ", std::string(why.message())));
}

PlanCache<Plan>::Kept ConvPlans::FirstPlan(const CallShape& call) const {
  DTNN_ASSIGN_OR_RETURN(const Descriptor graph, MakeConvGraph(spec_, call, library_->handle()));
  const gpu::Properties& gpu = context_->stream().gpu().properties();
  const PlanRequest request = RequestOf(graph, MostWorkspace(gpu.memory_bytes));
  const BestOfKey key = conv::LibraryKey(gpu.name, absl::StrCat("cudnn", cudnnGetVersion()), spec_,
                                         call.direction, call.accumulate);
  const auto shared = [&](std::string_view name, absl::FunctionRef<absl::StatusOr<Plan>()> make) {
    return library_->PlanOf(PlanKey::Of(spec_, call, request.most_workspace, name), make);
  };
  const auto guessed = [&] {
    return shared(
        "", [&] { return FromFileOr(request, key, "", [&] { return ChoosePlan(request); }); });
  };
  BestOf* const tuner = context_->tuner();
  if (tuner == nullptr) return guessed();
  std::vector<Plan> plans;
  const absl::StatusOr<std::string> chosen =
      tuner->Choose(key, [&]() -> absl::StatusOr<std::vector<BestOfCandidate>> {
        DTNN_ASSIGN_OR_RETURN(plans, ListPlans(request, kMostTimedPlans));
        return MakeCandidates(plans, call, key, *tuner);
      });
  if (!chosen.ok() && !plans.empty()) {
    tuner->Warn(absl::StrCat(key.ToString(), ": not timed, cuDNN's own choice: ",
                             std::string(chosen.status().message())));
    return guessed();
  }
  DTNN_RETURN_IF_ERROR(chosen.status());
  PlanCache<Plan>::Kept known = shared(*chosen, [&]() -> absl::StatusOr<Plan> {
    for (const Plan& plan : plans) {
      if (plan.name != *chosen) continue;
      IntoFile(plan, FileKey(key, *chosen));
      return plan;
    }
    return FromFileOr(request, key, *chosen, [&] { return PlanNamed(request, *chosen); });
  });
  if (known.ok()) return known;
  return absl::NotFoundError(absl::StrCat("the decision for ", key.ToString(), ": ",
                                          std::string(known.status().message()),
                                          "; delete its line, and it is decided anew"));
}

absl::StatusOr<std::vector<BestOfCandidate>> ConvPlans::MakeCandidates(
    const std::vector<Plan>& plans, const CallShape& call, const BestOfKey& key,
    const BestOf& tuner) const {
  int64_t scratch = 0;
  for (const Plan& plan : plans) scratch = std::max(scratch, plan.workspace_bytes);
  auto bench = std::make_shared<Workbench>();
  DTNN_RETURN_IF_ERROR(bench->Fill(GpuRunner(*context_), spec_, call, scratch));
  std::vector<BestOfCandidate> candidates;
  for (const Plan& plan : plans) {
    const auto queue = [this, plan, bench] {
      return Execute(plan, bench->pack, bench->scratch->data());
    };
    const auto time = [this, queue] { return GpuSeconds(*context_, kTimedCalls, queue); };
    if (const absl::Status status = time().status(); status.ok()) {
      candidates.push_back({plan.name, queue, time});
    } else {
      tuner.Warn(absl::StrCat(key.ToString(), ": ", plan.name,
                              " is not timed: ", std::string(status.message())));
    }
  }
  return candidates;
}

absl::StatusOr<Plan> ConvPlans::FromFileOr(const PlanRequest& request, const BestOfKey& key,
                                           std::string_view name,
                                           absl::FunctionRef<absl::StatusOr<Plan>()> make) const {
  const KeptPlans* const kept = context_->kept_plans();
  if (kept == nullptr) return make();
  const std::string file_key = FileKey(key, name);
  const absl::StatusOr<std::string> text = kept->Load(file_key, kGraphRevision);
  if (text.ok()) {
    absl::StatusOr<Plan> plan = RestorePlan(request, *text);
    if (plan.ok() && (name.empty() || plan->name == name)) return plan;
    if (!plan.ok()) WarnOf(*kept, file_key, "made anew", plan.status());
  } else if (!absl::IsNotFound(text.status())) {
    WarnOf(*kept, file_key, "made anew", text.status());
  }
  absl::StatusOr<Plan> plan = make();
  if (plan.ok()) IntoFile(*plan, file_key);
  return plan;
}

void ConvPlans::IntoFile(const Plan& plan, const std::string& file_key) const {
  const KeptPlans* const kept = context_->kept_plans();
  if (kept == nullptr) return;
  const absl::StatusOr<std::string> text = TextOfPlan(plan);
  const absl::Status saved =
      text.ok() ? kept->Save(file_key, kGraphRevision, *text) : text.status();
  if (!saved.ok()) WarnOf(*kept, file_key, "not kept", saved);
}

PlanCache<Plan>::Kept ConvPlans::OtherPlan(const CallShape& call) const {
  return library_->PlanOf(PlanKey::Of(spec_, call, workspace_bytes_, ""),
                          [&]() -> absl::StatusOr<Plan> {
                            DTNN_ASSIGN_OR_RETURN(const Descriptor graph,
                                                  MakeConvGraph(spec_, call, library_->handle()));
                            return ChoosePlan(RequestOf(graph, workspace_bytes_));
                          });
}

absl::StatusOr<const Plan*> ConvPlans::For(const CallShape& call) {
  if (!computes_[call.direction]) return nullptr;
  auto found = first_.find(call);
  if (found == first_.end()) {
    found = others_.find(call);
    if (found == others_.end()) {
      DTNN_ASSIGN_OR_RETURN(found, AddOther(call));
    }
  }
  return found->second.get();
}

absl::StatusOr<ConvPlans::Plans::iterator> ConvPlans::AddOther(const CallShape& call) {
  if (others_.size() >= kMostOtherPlans) {
    // What is queued may still run the code of a plan.
    DTNN_RETURN_IF_ERROR(context_->Synchronize());
    others_.clear();
  }
  PlanCache<Plan>::Kept plan = OtherPlan(call);
  if (!plan.ok() && !absl::IsUnimplemented(plan.status())) return Failure(call, plan.status());
  return others_.emplace(call, plan.ok() ? *std::move(plan) : nullptr).first;
}

absl::Status ConvPlans::Execute(const Plan& plan, const Pack& call, void* workspace) const {
  DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, call.names())
      .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           int64_t(call.pointers().size()), call.pointers().data())
      .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
      .Finalize();
  DTNN_RETURN_IF_ERROR(pack.status());
  return StatusOf(absl::StrCat("convolution ", spec_.ToString(), ", engine ", plan.engine),
                  cudnnBackendExecute(library_->handle(), plan.plan.get(), pack.get()));
}

}  // namespace dtnn::cudnn
