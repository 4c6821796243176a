// The convolution by cuDNN. Plans for whole, dense, aligned batches, with and without accumulation,
// are made with the primitive and stay; those for other calls are made when such a call first
// comes. The former are the fastest of several where the context has a tuner, all else cuDNN's own
// choice. What cuDNN has no plan for, a direction or a call, runs as variant plain.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "kernels/best_of/best_of.h"
#include "kernels/bias/bias.h"
#include "kernels/cast/cast_body.h"
#include "kernels/conv/check.h"
#include "kernels/conv/gpu/cudnn/call_shape.h"
#include "kernels/conv/gpu/cudnn/conv_graph.h"
#include "kernels/conv/gpu/cudnn/filter_order.h"
#include "kernels/conv/gpu/cudnn/plan.h"
#include "kernels/conv/gpu/cudnn/random_body.h"
#include "kernels/conv/gpu/library_key.h"
#include "kernels/conv/gpu/variants.h"
#include "kernels/cuda_context.h"
#include "kernels/device/kept_plans.h"
#include "kernels/device/library_version.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gpu_runner.h"
#include "kernels/scratch.h"
#include "tensor/buffer.h"
#include "tensor/status_macros.h"

namespace dtnn::cudnn {
namespace {

using conv::Direction;

// Of calls with other batches, pitches or alignments.
constexpr size_t kMostOtherPlans = 64;
// By a tuner; heuristics seldom put the fastest after these.
constexpr size_t kMostTimedPlans = 8;

absl::Status CheckVersion() {
  return CheckLibraryVersion("cuDNN", LibraryVersion::Of(int64_t(cudnnGetVersion()), 10000, 100),
                             {CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL});
}

// One handle per context, on its stream.
absl::StatusOr<cudnnHandle_t> HandleOf(CudaContext& context) {
  std::shared_ptr<void>& kept = context.dnn();
  if (kept == nullptr) {
    DTNN_RETURN_IF_ERROR(CheckVersion());
    DTNN_RETURN_IF_ERROR(context.MakeCurrent());
    cudnnHandle_t handle = nullptr;
    DTNN_RETURN_IF_ERROR(StatusOf("starting cuDNN", cudnnCreate(&handle)));
    std::shared_ptr<void> made(
        handle, [](void* each) { (void)cudnnDestroy(static_cast<cudnnHandle_t>(each)); });
    DTNN_RETURN_IF_ERROR(
        StatusOf("giving cuDNN a stream",
                 cudnnSetStream(handle, static_cast<cudaStream_t>(context.stream().native()))));
    kept = std::move(made);
  }
  return static_cast<cudnnHandle_t>(kept.get());
}

class CudnnConv2d final : public Conv2d {
 public:
  static absl::StatusOr<std::unique_ptr<Conv2d>> Create(CudaContext& context,
                                                        const Conv2dSpec& spec,
                                                        const conv::Directions& directions) {
    DTNN_ASSIGN_OR_RETURN(const cudnnHandle_t handle, HandleOf(context));
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Conv2d> plain,
                          conv::CreatePlainConv2d(context, spec, directions));
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Bias> bias, CreateBias(context, {.channels = spec.filters,
                                                                           .format = spec.format,
                                                                           .dtype = spec.dtype}));
    std::unique_ptr<CudnnConv2d> conv(
        new CudnnConv2d(context, handle, spec, directions, std::move(plain), std::move(bias)));
    DTNN_RETURN_IF_ERROR(conv->MakeFirstPlans());
    return conv;
  }

  absl::Status Forward(const Tensor& x, const ParameterView& filter, const Tensor& y,
                       const EpilogueOperands& operands, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kForward));
    DTNN_RETURN_IF_ERROR(
        CheckConv2dForward(spec_, runner_.device(), x, filter.tensor, y, operands));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    if (x.shape()[0] == 0) return absl::OkStatus();
    const Epilogue& epilogue = spec_.epilogue;
    Pack pack;
    pack.Add(kX, x);
    pack.Add(kY, y);
    const Division memory = Divide(workspace.data());
    if (epilogue.scale) {
      DTNN_RETURN_IF_ERROR(AddVector(kScale, operands.scale, memory.scale, pack));
    }
    if (epilogue.bias) {
      DTNN_RETURN_IF_ERROR(AddVector(kBias, operands.bias, memory.bias, pack));
    }
    if (epilogue.add) pack.Add(kAddend, operands.addend);
    DTNN_ASSIGN_OR_RETURN(
        const Plan* const plan,
        PlanFor(CallOf(Direction::kForward, x, y, epilogue.add ? operands.addend : Tensor(), false,
                       pack, filter.tensor)));
    if (plan == nullptr) return plain_->Forward(x, filter, y, operands, workspace);
    DTNN_ASSIGN_OR_RETURN(std::byte* const weights, Used(filter.tensor, workspace));
    pack.Add(kFilter, weights);
    return Execute(*plan, pack, workspace);
  }

  absl::Status BackwardData(const Tensor& dy, const ParameterView& filter, const Tensor& dx,
                            bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kBackwardData));
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardData(spec_, runner_.device(), dy, filter.tensor, dx));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    if (dy.shape()[0] == 0) return absl::OkStatus();
    Pack pack;
    pack.Add(kX, dx);
    pack.Add(kY, dy);
    DTNN_ASSIGN_OR_RETURN(const Plan* const plan,
                          PlanFor(CallOf(Direction::kBackwardData, dx, dy, Tensor(), accumulate,
                                         pack, filter.tensor)));
    if (plan == nullptr) return plain_->BackwardData(dy, filter, dx, accumulate, workspace);
    DTNN_ASSIGN_OR_RETURN(std::byte* const weights, Used(filter.tensor, workspace));
    pack.Add(kFilter, weights);
    return Execute(*plan, pack, workspace);
  }

  absl::Status BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dfilter,
                              const Tensor& dbias, bool accumulate, Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(CheckDirection(Direction::kBackwardFilter));
    DTNN_RETURN_IF_ERROR(CheckConv2dBackwardFilter(spec_, runner_.device(), x, dy, dfilter, dbias));
    DTNN_RETURN_IF_ERROR(CheckConv2dWorkspace(workspace, workspace_bytes()));
    Pack pack;
    pack.Add(kX, x);
    pack.Add(kY, dy);
    const Plan* plan = nullptr;
    if (x.shape()[0] > 0) {
      DTNN_ASSIGN_OR_RETURN(plan, PlanFor(CallOf(Direction::kBackwardFilter, x, dy, Tensor(),
                                                 accumulate && !stores_, pack, dfilter)));
    }
    if (plan == nullptr) {
      return plain_->BackwardFilter(x, dy, dfilter, dbias, accumulate, workspace);
    }
    std::byte* const gradient = stores_ ? Divide(workspace.data()).filter : dfilter.raw_data();
    pack.Add(kFilter, gradient);
    DTNN_RETURN_IF_ERROR(Execute(*plan, pack, workspace));
    if (stores_) DTNN_RETURN_IF_ERROR(Store(gradient, dfilter, accumulate));
    return dbias.empty() ? absl::OkStatus() : bias_->Backward(dy, dbias, accumulate);
  }

  size_t workspace_bytes() const override {
    return std::max(plain_->workspace_bytes(), Divide(nullptr).bytes + size_t(plan_workspace_));
  }
  std::string_view variant(Direction direction) const override {
    return first_[direction] ? "cudnn" : plain_->variant(direction);
  }

 private:
  using Plans = std::map<CallShape, std::optional<Plan>>;

  // The operands of a call by their names in the graph.
  class Pack {
   public:
    void Add(int64_t name, void* data) {
      names_.push_back(name);
      pointers_.push_back(data);
    }
    void Add(int64_t name, const Tensor& tensor) { Add(name, tensor.raw_data()); }
    const std::vector<int64_t>& names() const { return names_; }
    const std::vector<void*>& pointers() const { return pointers_; }

   private:
    std::vector<int64_t> names_;
    std::vector<void*> pointers_;
  };

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

  CudnnConv2d(CudaContext& context, cudnnHandle_t handle, const Conv2dSpec& spec,
              const conv::Directions& directions, std::unique_ptr<Conv2d> plain,
              std::unique_ptr<Bias> bias)
      : context_(&context),
        runner_(context),
        handle_(handle),
        spec_(spec),
        directions_(directions),
        reorders_(ReordersFilter(spec)),
        stores_(directions[Direction::kBackwardFilter] && StoresGradient(spec)),
        plain_(std::move(plain)),
        bias_(std::move(bias)) {}

  // InvalidArgument, with the reasons, where cuDNN computes none of the directions.
  absl::Status MakeFirstPlans() {
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    std::string reasons;
    for (const CallShape& call : FirstCalls(spec_, directions_)) {
      bool& computes = first_[call.direction];
      if (call.accumulate && !computes) continue;
      const absl::StatusOr<Plan> plan = MakeFirstPlan(call);
      if (absl::IsNotFound(plan.status())) return plan.status();
      if (plan.ok() || call.accumulate) {
        KeepFirst(call, plan);
        computes = true;
      } else {
        absl::StrAppend(&reasons, reasons.empty() ? "" : "; ",
                        std::string(conv::Name(call.direction)), ": ", plan.status().message());
      }
    }
    if (!first_plans_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(reasons);
  }
  void KeepFirst(const CallShape& call, absl::StatusOr<Plan> plan) {
    std::optional<Plan>& kept = first_plans_[call];
    if (!plan.ok()) return;
    plan_workspace_ = std::max(plan_workspace_, plan->workspace_bytes);
    kept = *std::move(plan);
  }
  PlanRequest RequestOf(const Descriptor& graph, int64_t most_workspace) const {
    return {.graph = &graph,
            .target = {.handle = handle_},
            .tensor_cores = MayUseTensorCores(spec_),
            .most_workspace = most_workspace};
  }
  // As the tuner of the context has decided, or decides now. NotFound for a decision from elsewhere
  // that cuDNN has no plan for.
  absl::StatusOr<Plan> MakeFirstPlan(const CallShape& call) const {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, MakeConvGraph(spec_, call, handle_));
    const PlanRequest request = RequestOf(graph, kMostWorkspace);
    BestOf* const tuner = context_->tuner();
    const BestOfKey key = conv::LibraryKey(context_->stream().gpu().properties().name,
                                           absl::StrCat("cudnn", cudnnGetVersion()), spec_,
                                           call.direction, call.accumulate);
    if (tuner == nullptr) {
      return FromFileOr(request, key, "", [&] { return ChoosePlan(request); });
    }
    std::vector<Plan> plans;
    const absl::StatusOr<std::string> chosen =
        tuner->Choose(key, [&]() -> absl::StatusOr<std::vector<BestOfCandidate>> {
          DTNN_ASSIGN_OR_RETURN(plans, ListPlans(request, kMostTimedPlans));
          return MakeCandidates(plans, call, key, *tuner);
        });
    if (!chosen.ok() && !plans.empty()) {
      tuner->Warn(absl::StrCat(key.ToString(), ": not timed, cuDNN's own choice: ",
                               std::string(chosen.status().message())));
      return ChoosePlan(request);
    }
    DTNN_RETURN_IF_ERROR(chosen.status());
    for (const Plan& plan : plans) {
      if (plan.name != *chosen) continue;
      IntoFile(plan, FileKey(key, *chosen));
      return plan;
    }
    absl::StatusOr<Plan> known =
        FromFileOr(request, key, *chosen, [&] { return PlanNamed(request, *chosen); });
    if (known.ok()) return known;
    return absl::NotFoundError(absl::StrCat("the decision for ", key.ToString(), ": ",
                                            std::string(known.status().message()),
                                            "; delete its line, and it is decided anew"));
  }
  // `name`: of the plan that was decided for; empty: cuDNN's own choice.
  static std::string FileKey(const BestOfKey& key, std::string_view name) {
    return absl::StrCat(key.ToString(), name.empty() ? "/guessed" : "/timed");
  }
  // The plan that an earlier run has kept; else what `make` makes, which is kept then.
  absl::StatusOr<Plan> FromFileOr(const PlanRequest& request, const BestOfKey& key,
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
  // The run goes on without where it cannot be kept.
  void IntoFile(const Plan& plan, const std::string& file_key) const {
    const KeptPlans* const kept = context_->kept_plans();
    if (kept == nullptr) return;
    const absl::StatusOr<std::string> text = TextOfPlan(plan);
    const absl::Status saved =
        text.ok() ? kept->Save(file_key, kGraphRevision, *text) : text.status();
    if (!saved.ok()) WarnOf(*kept, file_key, "not kept", saved);
  }
  static void WarnOf(const KeptPlans& kept, const std::string& file_key, std::string_view what,
                     const absl::Status& why) {
    kept.Warn(absl::StrCat(file_key, ": ", std::string(what), ": ", std::string(why.message())));
  }
  // Calls on random operands of their own, in the order of `plans`; without those that fail.
  absl::StatusOr<std::vector<BestOfCandidate>> MakeCandidates(const std::vector<Plan>& plans,
                                                              const CallShape& call,
                                                              const BestOfKey& key,
                                                              const BestOf& tuner) const {
    int64_t scratch = 0;
    for (const Plan& plan : plans) scratch = std::max(scratch, plan.workspace_bytes);
    auto bench = std::make_shared<Workbench>();
    DTNN_RETURN_IF_ERROR(bench->Fill(runner_, spec_, call, scratch));
    std::vector<BestOfCandidate> candidates;
    for (const Plan& plan : plans) {
      const auto run = [this, plan, bench]() -> absl::Status {
        DTNN_RETURN_IF_ERROR(ExecuteIn(plan, bench->pack, bench->scratch->data()));
        return context_->Synchronize();
      };
      if (const absl::Status status = run(); status.ok()) {
        candidates.push_back({plan.name, run});
      } else {
        tuner.Warn(absl::StrCat(key.ToString(), ": ", plan.name,
                                " is not timed: ", std::string(status.message())));
      }
    }
    return candidates;
  }
  absl::StatusOr<Plan> MakeOtherPlan(const CallShape& call) const {
    DTNN_ASSIGN_OR_RETURN(const Descriptor graph, MakeConvGraph(spec_, call, handle_));
    return ChoosePlan(RequestOf(graph, plan_workspace_));
  }
  // Null where there is none; it is then not asked for again.
  absl::StatusOr<const Plan*> PlanFor(const CallShape& call) {
    if (!first_[call.direction]) return nullptr;
    auto found = first_plans_.find(call);
    if (found == first_plans_.end()) {
      found = other_plans_.find(call);
      if (found == other_plans_.end()) {
        DTNN_ASSIGN_OR_RETURN(found, AddOther(call));
      }
    }
    return found->second.has_value() ? &*found->second : nullptr;
  }
  absl::Status CheckDirection(Direction direction) const {
    return CheckConv2dDirection(directions_[direction], direction);
  }
  absl::StatusOr<Plans::iterator> AddOther(const CallShape& call) {
    if (other_plans_.size() >= kMostOtherPlans) {
      // What is queued may still run the code of a plan.
      DTNN_RETURN_IF_ERROR(context_->Synchronize());
      other_plans_.clear();
    }
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    std::optional<Plan> plan;
    if (absl::StatusOr<Plan> made = MakeOtherPlan(call); made.ok()) plan = *made;
    return other_plans_.emplace(call, std::move(plan)).first;
  }

  CallShape CallOf(Direction direction, const Tensor& x, const Tensor& y, const Tensor& addend,
                   bool accumulate, const Pack& pack, const Tensor& filter) const {
    CallShape call = {.direction = direction, .images = x.shape()[0], .accumulate = accumulate};
    const auto pitch = [&](const Tensor& tensor) {
      return spec_.format == TensorFormat::kNHWC ? tensor.PixelPitch() : tensor.ImagePitch();
    };
    call.x_pitch = pitch(x);
    call.y_pitch = pitch(y);
    if (!addend.empty()) call.addend_pitch = pitch(addend);
    uintptr_t bits = 16;
    for (const void* pointer : pack.pointers()) bits |= reinterpret_cast<uintptr_t>(pointer);
    if (!reorders_) bits |= reinterpret_cast<uintptr_t>(filter.raw_data());
    call.alignment = int64_t{1} << std::countr_zero(bits);
    return call;
  }

  // What of the workspace comes before cuDNN's own: operands that it cannot take as they are.
  struct Division {
    std::byte *filter, *scale, *bias;  // filter: or its gradient
    size_t bytes;
  };
  Division Divide(std::byte* memory) const {
    const int64_t size = int64_t(SizeOf(spec_.dtype));
    const auto vector = [&](bool wanted) {
      return IsHalf(spec_.dtype) && wanted ? spec_.filters : 0;
    };
    ScratchDivider divider(memory);
    Division division = {};
    division.filter = divider.Take<std::byte>(
        reorders_ || stores_ ? spec_.FilterShape().NumElements() * size : 0);
    division.scale = divider.Take<std::byte>(vector(spec_.epilogue.scale) * size);
    division.bias = divider.Take<std::byte>(vector(spec_.epilogue.bias) * size);
    division.bytes = divider.bytes();
    return division;
  }
  // The filter in the order that cuDNN computes with: a copy in the workspace where that differs.
  absl::StatusOr<std::byte*> Used(const Tensor& filter, Workspace workspace) const {
    if (!reorders_) return filter.raw_data();
    std::byte* const used = Divide(workspace.data()).filter;
    DTNN_RETURN_IF_ERROR(DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      const auto stored = conv::FilterView<const T>::Of(filter, spec_);
      return runner_.ForEach(
          "filter for cuDNN", stored.size(),
          ReorderFilterBody<T, T>{false, Extents(stored), stored,
                                  UsedFilter(reinterpret_cast<T*>(used), spec_)});
    }));
    return used;
  }
  absl::Status Store(std::byte* gradient, const Tensor& dfilter, bool accumulate) const {
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      using W = Wide<T>;
      const auto stored = conv::FilterView<W>::Of(dfilter, spec_);
      const auto extents = Extents(conv::FilterView<const W>::Of(dfilter, spec_));
      return runner_.ForEach(
          "filter from cuDNN", stored.size(),
          ReorderFilterBody<T, W>{accumulate, extents,
                                  UsedFilter(reinterpret_cast<const T*>(gradient), spec_), stored});
    });
  }
  // A vector of the epilogue; rounded to `rounded` where images have 16 bits.
  absl::Status AddVector(int64_t name, const Tensor& vector, std::byte* rounded, Pack& pack) const {
    if (!IsHalf(spec_.dtype)) {
      pack.Add(name, vector);
      return absl::OkStatus();
    }
    pack.Add(name, rounded);
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "vector for cuDNN", spec_.filters,
          CastBody<Wide<T>, T>{vector.data<Wide<T>>(), reinterpret_cast<T*>(rounded)});
    });
  }
  template <typename View>
  static View Extents(View view) {
    view.data = nullptr;
    return view;
  }

  absl::Status Execute(const Plan& plan, const Pack& call, Workspace workspace) const {
    return ExecuteIn(plan, call, workspace.data() + Divide(nullptr).bytes);
  }
  absl::Status ExecuteIn(const Plan& plan, const Pack& call, void* scratch) const {
    DTNN_RETURN_IF_ERROR(context_->MakeCurrent());
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.Ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, call.names())
        .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             int64_t(call.pointers().size()), call.pointers().data())
        .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch)
        .Finalize();
    DTNN_RETURN_IF_ERROR(pack.status());
    return StatusOf(absl::StrCat("convolution ", spec_.ToString(), ", engine ", plan.engine),
                    cudnnBackendExecute(handle_, plan.plan.get(), pack.get()));
  }

  CudaContext* context_;
  GpuRunner runner_;
  cudnnHandle_t handle_;
  Conv2dSpec spec_;
  conv::Directions directions_;
  bool reorders_, stores_;  // the filter; its gradient, reordered or converted
  std::unique_ptr<Conv2d> plain_;
  std::unique_ptr<Bias> bias_;
  conv::Directions first_ = {};  // those that cuDNN computes
  int64_t plan_workspace_ = 0;
  Plans first_plans_, other_plans_;
};

}  // namespace
}  // namespace dtnn::cudnn

namespace dtnn::conv {

absl::StatusOr<std::unique_ptr<Conv2d>> CreateCudnnConv2d(DeviceContext& context,
                                                          const Conv2dSpec& spec,
                                                          const Directions& directions) {
  if (context.device().type != DeviceType::kCuda) {
    return absl::InvalidArgumentError("cuDNN runs on NVIDIA's GPUs, not on " +
                                      context.device().ToString());
  }
  return cudnn::CudnnConv2d::Create(static_cast<CudaContext&>(context), spec, directions);
}

}  // namespace dtnn::conv
