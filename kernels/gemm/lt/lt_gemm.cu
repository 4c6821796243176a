#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cast/cast_body.h"
#include "kernels/elementwise/operands.h"
#include "kernels/gemm/gemm_variants.h"
#include "kernels/gemm/lt/lt_gemm.h"
#include "kernels/gpu/runner.h"
#include "kernels/workspace/scratch.h"
#include "tensor/status_macros.h"

namespace dtnn {

// Algorithms that divide k want memory for their sums; more than this brings nothing.
constexpr size_t kMostWorkspace = size_t{32} << 20;
// The first, and those of calls with other sizes, pitches or alignments.
constexpr size_t kMostPlans = 64;

class LtGemm final : public Gemm {
 public:
  LtGemm(const GpuRunner& runner, const GemmSpec& spec, std::string_view name,
         std::unique_ptr<LtLibrary> library, std::unique_ptr<Gemm> other)
      : runner_(runner),
        spec_(spec),
        name_(name),
        library_(std::move(library)),
        other_(std::move(other)) {}

  // The plan for dense, aligned operands of the spec's sizes.
  absl::Status MakeFirstPlan() {
    first_ = ProblemOf({spec_.m, spec_.n, spec_.k});
    first_.lda = spec_.transpose_b ? spec_.k : spec_.n;
    first_.ldb = spec_.transpose_a ? spec_.m : spec_.k;
    DTNN_ASSIGN_OR_RETURN(LtPlan plan, library_->Choose(first_, kMostWorkspace));
    most_workspace_ = plan.workspace_bytes;
    plans_.emplace(first_, std::move(plan));
    return absl::OkStatus();
  }

  absl::Status Run(const Tensor& a, const Tensor& b, const Tensor& c,
                   const EpilogueOperands& operands, Workspace workspace) override {
    GemmSizes sizes;
    DTNN_RETURN_IF_ERROR(CheckGemmCall(spec_, runner_.device(), a, b, c, operands, &sizes));
    if (workspace.size() < workspace_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("gemm ", spec_.ToString(),
                                                     ": the workspace has ", workspace.size(),
                                                     " bytes, needs ", workspace_bytes()));
    }
    const auto [m, n, k] = sizes;
    // cuBLASLt knows no empty products; and older ones forgot the bias of a single column with a
    // pitch.
    if (m == 0 || n == 0 || k == 0 || c.RowPitch() != n) {
      return other_->Run(a, b, c, operands, workspace);
    }
    ScratchDivider divider(workspace.data(), kGpuScratchAlignment);
    std::byte* const rounded = divider.Take<std::byte>(RoundedBytes());
    LtOperands pointers = {.a = b.raw_data(),
                           .b = a.raw_data(),
                           .vector = rounds() ? rounded : VectorOf(operands).raw_data(),
                           .d = c.raw_data(),
                           .workspace = workspace.data() + divider.bytes(),
                           .workspace_bytes = workspace.size() - divider.bytes()};
    LtProblem problem = ProblemOf(sizes);
    problem.lda = b.RowPitch();
    problem.ldb = a.RowPitch();
    problem.alignment = AlignmentOf(pointers);
    DTNN_ASSIGN_OR_RETURN(const LtPlan* const plan, PlanFor(problem));
    if (plan == nullptr) return other_->Run(a, b, c, operands, workspace);
    if (rounds()) DTNN_RETURN_IF_ERROR(Round(operands.bias, rounded));
    return library_->Multiply(problem, *plan, pointers);
  }

  size_t workspace_bytes() const override {
    ScratchDivider divider(nullptr, kGpuScratchAlignment);
    divider.Take<std::byte>(RoundedBytes());
    return std::max(divider.bytes() + most_workspace_, other_->workspace_bytes());
  }
  std::string_view variant() const override { return name_; }

 private:
  // Row-major operands are their own transposes, in exchanged places (gemm_gpu.h).
  LtProblem ProblemOf(const GemmSizes& sizes) const {
    return {.epilogue = spec_.column_sums ? LtEpilogue::kRowSumsOfA : LtEpilogue::kBias,
            .dtype = spec_.dtype,
            .result_dtype = spec_.result_dtype(),
            .tf32 = spec_.tf32,
            .transpose_a = spec_.transpose_b,
            .transpose_b = spec_.transpose_a,
            .m = sizes.n,
            .n = sizes.m,
            .k = sizes.k,
            .ldd = sizes.n};
  }
  static int64_t AlignmentOf(const LtOperands& operands) {
    uintptr_t bits = 16;
    for (const void* pointer :
         {operands.a, operands.b, (const void*)operands.vector, (const void*)operands.d}) {
      bits |= reinterpret_cast<uintptr_t>(pointer);
    }
    return int64_t{1} << std::countr_zero(bits);
  }
  // Null where there is none; it is then not asked for again.
  absl::StatusOr<const LtPlan*> PlanFor(const LtProblem& problem) {
    auto found = plans_.find(problem);
    if (found == plans_.end()) {
      if (plans_.size() >= kMostPlans) ForgetOthers();
      absl::StatusOr<LtPlan> plan = library_->Choose(problem, most_workspace_);
      if (!plan.ok() && !absl::IsUnimplemented(plan.status())) return plan.status();
      found = plans_.emplace(problem, std::nullopt).first;
      if (plan.ok()) found->second = *std::move(plan);
    }
    return found->second.has_value() ? &*found->second : nullptr;
  }
  void ForgetOthers() {
    auto first = plans_.extract(first_);
    plans_.clear();
    plans_.insert(std::move(first));
  }
  const Tensor& VectorOf(const EpilogueOperands& operands) const {
    return spec_.column_sums ? operands.column_sums : operands.bias;
  }
  // The bias has the result's type for the library.
  bool rounds() const { return spec_.epilogue.bias && IsHalf(spec_.result_dtype()); }
  int64_t RoundedBytes() const { return rounds() ? spec_.n * int64_t(SizeOf(spec_.dtype)) : 0; }
  absl::Status Round(const Tensor& bias, std::byte* rounded) const {
    return DispatchGpuFloating(spec_.dtype, [&]<typename T>(T) {
      return runner_.ForEach(
          "bias for the product", bias.num_elements(),
          CastBody<Wide<T>, T>{bias.data<Wide<T>>(), reinterpret_cast<T*>(rounded)});
    });
  }

  GpuRunner runner_;
  GemmSpec spec_;
  std::string_view name_;
  std::unique_ptr<LtLibrary> library_;
  std::unique_ptr<Gemm> other_;
  LtProblem first_;
  size_t most_workspace_ = 0;
  std::map<LtProblem, std::optional<LtPlan>> plans_;
};

absl::StatusOr<std::unique_ptr<Gemm>> MakeLtGemm(DeviceContext& context, const GemmSpec& spec,
                                                 std::string_view name,
                                                 std::unique_ptr<LtLibrary> library,
                                                 std::unique_ptr<Gemm> other) {
  if (spec.epilogue != Epilogue{.bias = !spec.column_sums} || spec.accumulate) {
    return absl::InvalidArgumentError(
        "a bias is added as the result is written, or columns are summed, and nothing else");
  }
  if (spec.column_sums && spec.result_dtype() != WideOf(spec.dtype)) {
    return absl::InvalidArgumentError("sums of columns have the type of the result, not 16 bits");
  }
  if (spec.m == 0 || spec.n == 0 || spec.k == 0) {
    return absl::InvalidArgumentError("there is nothing to multiply");
  }
  auto gemm = std::make_unique<LtGemm>(GpuRunner(context), spec, name, std::move(library),
                                       std::move(other));
  DTNN_RETURN_IF_ERROR(gemm->MakeFirstPlan());
  return gemm;
}

}  // namespace dtnn
